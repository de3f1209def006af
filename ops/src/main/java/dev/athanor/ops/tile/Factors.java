package dev.athanor.ops.tile;

/** What becomes of the elements of a and b before tensor cores multiply them. */
public enum Factors {
  /** They are multiplied as they are; f32 is rounded to the 11 bits of tf32. */
  PLAIN,
  /**
   * Each f32 is the sum of two tf32 numbers, and three products of these are summed; the product of
   * the two low parts is replaced by the rounding of a high part. A product errs by 2^-21 of itself
   * at most.
   */
  SPLIT,
  /**
   * Each fp8 number becomes f16, which can represent all of them. Hopper and data center Blackwell
   * have no {@code mma} for fp8: ptxas converts the factors of every single one. Converted once for
   * all products that a warp has of them, they cost a fourth of that, and sums are f32 without
   * promotion.
   */
  WIDENED;

  /** A part of the names of kernels. */
  public String text() {
    return this == WIDENED ? "_as_f16" : "";
  }
}
