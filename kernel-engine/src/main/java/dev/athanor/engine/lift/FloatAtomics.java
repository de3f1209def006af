package dev.athanor.engine.lift;

/**
 * Atomic operations that PTX lacks, written as kernel code. Each tries to replace the element that
 * it has computed with, until no other thread has changed the element meanwhile. The first guess is
 * the value itself; a plain read would race with other threads.
 */
final class FloatAtomics {
  private FloatAtomics() {}

  static float atomicMin(float[] array, int index, float value) {
    float old = value;
    while (true) {
      float found = Gpu.atomicCompareAndSet(array, index, old, Math.min(old, value));
      if (Float.floatToRawIntBits(found) == Float.floatToRawIntBits(old)) {
        return old;
      }
      old = found;
    }
  }

  static double atomicMin(double[] array, int index, double value) {
    double old = value;
    while (true) {
      double found = Gpu.atomicCompareAndSet(array, index, old, Math.min(old, value));
      if (Double.doubleToRawLongBits(found) == Double.doubleToRawLongBits(old)) {
        return old;
      }
      old = found;
    }
  }

  static float atomicMax(float[] array, int index, float value) {
    float old = value;
    while (true) {
      float found = Gpu.atomicCompareAndSet(array, index, old, Math.max(old, value));
      if (Float.floatToRawIntBits(found) == Float.floatToRawIntBits(old)) {
        return old;
      }
      old = found;
    }
  }

  static double atomicMax(double[] array, int index, double value) {
    double old = value;
    while (true) {
      double found = Gpu.atomicCompareAndSet(array, index, old, Math.max(old, value));
      if (Double.doubleToRawLongBits(found) == Double.doubleToRawLongBits(old)) {
        return old;
      }
      old = found;
    }
  }
}
