package dev.athanor.engine.ptx;

/** The accuracy of the sums of matrix instructions. */
public enum Arithmetic {
  /** Bit-exact to the target's tensor cores, as far as their behavior is known. */
  EXACT,
  /**
   * Fused multiply-adds in f32 with ascending k; f16 sums are rounded once, at the end. Integers
   * and f64 are exact in both modes.
   */
  FAST
}
