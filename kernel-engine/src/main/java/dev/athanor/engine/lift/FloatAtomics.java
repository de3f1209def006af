package dev.athanor.engine.lift;

import java.util.function.BinaryOperator;

/**
 * Atomic operations that PTX lacks, written as kernel code. Each tries to replace the element that
 * it has computed with, until no other thread has changed the element meanwhile. The first guess is
 * the value itself; a plain read would race with other threads.
 */
final class FloatAtomics {
  private FloatAtomics() {}

  private static float update(
      float[] array, int index, float value, BinaryOperator<Float> operator) {
    float old = value;
    while (true) {
      float found = Gpu.atomicCompareAndSet(array, index, old, operator.apply(old, value));
      if (Float.floatToRawIntBits(found) == Float.floatToRawIntBits(old)) {
        return old;
      }
      old = found;
    }
  }

  static float atomicMin(float[] array, int index, float value) {
    return update(array, index, value, Math::min);
  }

  static float atomicMax(float[] array, int index, float value) {
    return update(array, index, value, Math::max);
  }

  private static double update(
      double[] array, int index, double value, BinaryOperator<Double> operator) {
    double old = value;
    while (true) {
      double found = Gpu.atomicCompareAndSet(array, index, old, operator.apply(old, value));
      if (Double.doubleToRawLongBits(found) == Double.doubleToRawLongBits(old)) {
        return old;
      }
      old = found;
    }
  }

  static double atomicMin(double[] array, int index, double value) {
    return update(array, index, value, Math::min);
  }

  static double atomicMax(double[] array, int index, double value) {
    return update(array, index, value, Math::max);
  }
}
