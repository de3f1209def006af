package dev.athanor.ops.reduce;

import dev.athanor.ops.DType;
import dev.athanor.ops.Tolerance;

/** The tolerances of results that are computed in compensated f32 or f64 and rounded once. */
final class Tolerances {

  static final double ABOUT_ONE = 1 + 1.0 / 128;

  private Tolerances() {}

  /** Returns the tolerance of sums and products. */
  static Tolerance ofSums(DType dtype) {
    return switch (dtype) {
      case F64 -> Tolerance.maximum(1e-15);
      case F32 -> Tolerance.maximum(1e-6);
      // the error of f32 arithmetic is much smaller than the rounding
      case F16, BF16 -> Tolerance.roundings(ABOUT_ONE, dtype);
      default -> Tolerance.exact();
    };
  }

  /** Returns the tolerance of logarithms, which may be much smaller than their terms. */
  static Tolerance ofLogarithms(DType dtype) {
    return switch (dtype) {
      case F64, F32 -> ofSums(dtype);
      default -> Tolerance.maximum(ABOUT_ONE * dtype.epsilon() / 2);
    };
  }
}
