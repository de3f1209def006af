package dev.athanor.engine.ptx;

/** How closely the sums of matrix instructions follow the hardware. */
public enum Arithmetic {
  /** Bit for bit as the tensor cores of the target add, as far as that is known. */
  EXACT,
  /**
   * In f32, one fused multiply-add after the other with k ascending; sums of f16 are rounded once,
   * at the end. Integers and f64 are the same with both.
   */
  FAST
}
