package dev.athanor.ops.expression;

import dev.athanor.ops.DType;

/**
 * A number of any dtype.
 *
 * @param real the number, if it is a float
 * @param whole the number, if it is an integer or a bool
 */
record ScalarValue(boolean isReal, double real, long whole) {

  static ScalarValue of(double value) {
    return new ScalarValue(true, value, 0);
  }

  static ScalarValue of(long value) {
    return new ScalarValue(false, 0, value);
  }

  static ScalarValue of(boolean value) {
    return of(value ? 1L : 0L);
  }

  /** Returns the number in float64; integers beyond 2^53 are rounded. */
  double toReal() {
    return isReal ? real : whole;
  }

  /** Returns whether it differs from 0; a NaN does. */
  boolean isTrue() {
    return isReal ? real != 0 : whole != 0;
  }

  /** Returns this number as kernels pass it to arithmetic in a dtype. */
  ScalarValue as(DType dtype) {
    if (!dtype.isFloat()) {
      return this;
    }
    return of(dtype == DType.F64 ? toReal() : (float) toReal());
  }

  String text() {
    return isReal ? Double.toString(real) : Long.toString(whole);
  }
}
