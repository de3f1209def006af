package dev.athanor.ops.tile;

/** The conversion of the elements of a and b before tensor cores multiply them. */
public enum Factors {
  /** No conversion; f32 is rounded to tf32, which has 11 significant bits. */
  PLAIN,
  /**
   * Each f32 is split into two tf32 numbers, and three of their products are summed. Instead of the
   * product of the two low parts, one product uses a rounded high part. The relative error of a
   * product is at most 2^-21.
   */
  SPLIT,
  /**
   * Each fp8 number is converted to f16, exactly. Hopper and data center Blackwell have no native
   * {@code mma} for fp8: ptxas converts the factors of each instruction. Converting them once per
   * warp costs a fourth of that, and sums are f32 without promotion.
   */
  WIDENED;

  /** Returns the part of kernel names. */
  public String text() {
    return this == WIDENED ? "_as_f16" : "";
  }
}
