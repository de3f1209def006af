package dev.athanor.engine.lift.host;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Atomic operations on elements of arrays; those that change an element return its old value. A
 * thread that polls, since its operation changes nothing, lets others run first: virtual threads
 * are not preempted.
 */
public final class HostAtomics {
  private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);
  private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);
  private static final VarHandle FLOATS = MethodHandles.arrayElementVarHandle(float[].class);
  private static final VarHandle DOUBLES = MethodHandles.arrayElementVarHandle(double[].class);

  private HostAtomics() {}

  /**
   * Waits for a moment. After a mere {@link Thread#yield}, the threads that a carrier has resumed
   * before would go first, so that polling threads could keep all others from ever running.
   */
  private static void letOthersRun() {
    LockSupport.parkNanos(1);
  }

  public static int add(int[] array, int index, int value) {
    if (value == 0) {
      letOthersRun();
    }
    return (int) INTS.getAndAdd(array, index, value);
  }

  public static long add(long[] array, int index, long value) {
    if (value == 0) {
      letOthersRun();
    }
    return (long) LONGS.getAndAdd(array, index, value);
  }

  public static float add(float[] array, int index, float value) {
    return (float) FLOATS.getAndAdd(array, index, value);
  }

  public static double add(double[] array, int index, double value) {
    return (double) DOUBLES.getAndAdd(array, index, value);
  }

  public static int and(int[] array, int index, int value) {
    if (value == -1) {
      letOthersRun();
    }
    return (int) INTS.getAndBitwiseAnd(array, index, value);
  }

  public static long and(long[] array, int index, long value) {
    if (value == -1) {
      letOthersRun();
    }
    return (long) LONGS.getAndBitwiseAnd(array, index, value);
  }

  public static int or(int[] array, int index, int value) {
    if (value == 0) {
      letOthersRun();
    }
    return (int) INTS.getAndBitwiseOr(array, index, value);
  }

  public static long or(long[] array, int index, long value) {
    if (value == 0) {
      letOthersRun();
    }
    return (long) LONGS.getAndBitwiseOr(array, index, value);
  }

  public static int xor(int[] array, int index, int value) {
    return (int) INTS.getAndBitwiseXor(array, index, value);
  }

  public static long xor(long[] array, int index, long value) {
    return (long) LONGS.getAndBitwiseXor(array, index, value);
  }

  public static int exchange(int[] array, int index, int value) {
    int old = (int) INTS.getAndSet(array, index, value);
    if (old == value) {
      letOthersRun();
    }
    return old;
  }

  public static long exchange(long[] array, int index, long value) {
    long old = (long) LONGS.getAndSet(array, index, value);
    if (old == value) {
      letOthersRun();
    }
    return old;
  }

  public static float exchange(float[] array, int index, float value) {
    return (float) FLOATS.getAndSet(array, index, value);
  }

  public static double exchange(double[] array, int index, double value) {
    return (double) DOUBLES.getAndSet(array, index, value);
  }

  public static int min(int[] array, int index, int value) {
    int old = (int) INTS.getVolatile(array, index);
    while (true) {
      int found = compareAndSet(array, index, old, Math.min(old, value));
      if (found == old) {
        return old;
      }
      old = found;
    }
  }

  public static long min(long[] array, int index, long value) {
    long old = (long) LONGS.getVolatile(array, index);
    while (true) {
      long found = compareAndSet(array, index, old, Math.min(old, value));
      if (found == old) {
        return old;
      }
      old = found;
    }
  }

  public static int max(int[] array, int index, int value) {
    int old = (int) INTS.getVolatile(array, index);
    while (true) {
      int found = compareAndSet(array, index, old, Math.max(old, value));
      if (found == old) {
        return old;
      }
      old = found;
    }
  }

  public static long max(long[] array, int index, long value) {
    long old = (long) LONGS.getVolatile(array, index);
    while (true) {
      long found = compareAndSet(array, index, old, Math.max(old, value));
      if (found == old) {
        return old;
      }
      old = found;
    }
  }

  public static int compareAndSet(int[] array, int index, int expected, int value) {
    int old = (int) INTS.compareAndExchange(array, index, expected, value);
    if (old != expected) {
      letOthersRun();
    }
    return old;
  }

  public static long compareAndSet(long[] array, int index, long expected, long value) {
    long old = (long) LONGS.compareAndExchange(array, index, expected, value);
    if (old != expected) {
      letOthersRun();
    }
    return old;
  }

  /** Compares bits. */
  public static float compareAndSet(float[] array, int index, float expected, float value) {
    float old = (float) FLOATS.compareAndExchange(array, index, expected, value);
    if (Float.floatToRawIntBits(old) != Float.floatToRawIntBits(expected)) {
      letOthersRun();
    }
    return old;
  }

  /** Compares bits. */
  public static double compareAndSet(double[] array, int index, double expected, double value) {
    double old = (double) DOUBLES.compareAndExchange(array, index, expected, value);
    if (Double.doubleToRawLongBits(old) != Double.doubleToRawLongBits(expected)) {
      letOthersRun();
    }
    return old;
  }

  public static int increment(int[] array, int index, int limit) {
    int old = (int) INTS.getVolatile(array, index);
    while (true) {
      int next = Integer.compareUnsigned(old, limit) >= 0 ? 0 : old + 1;
      int found = compareAndSet(array, index, old, next);
      if (found == old) {
        return old;
      }
      old = found;
    }
  }

  public static int decrement(int[] array, int index, int limit) {
    int old = (int) INTS.getVolatile(array, index);
    while (true) {
      boolean wraps = old == 0 || Integer.compareUnsigned(old, limit) > 0;
      int found = compareAndSet(array, index, old, wraps ? limit : old - 1);
      if (found == old) {
        return old;
      }
      old = found;
    }
  }

  public static int loadRelaxed(int[] array, int index) {
    letOthersRun();
    return (int) INTS.getOpaque(array, index);
  }

  public static long loadRelaxed(long[] array, int index) {
    letOthersRun();
    return (long) LONGS.getOpaque(array, index);
  }

  public static float loadRelaxed(float[] array, int index) {
    letOthersRun();
    return (float) FLOATS.getOpaque(array, index);
  }

  public static double loadRelaxed(double[] array, int index) {
    letOthersRun();
    return (double) DOUBLES.getOpaque(array, index);
  }

  public static int loadAcquire(int[] array, int index) {
    letOthersRun();
    return (int) INTS.getAcquire(array, index);
  }

  public static long loadAcquire(long[] array, int index) {
    letOthersRun();
    return (long) LONGS.getAcquire(array, index);
  }

  public static float loadAcquire(float[] array, int index) {
    letOthersRun();
    return (float) FLOATS.getAcquire(array, index);
  }

  public static double loadAcquire(double[] array, int index) {
    letOthersRun();
    return (double) DOUBLES.getAcquire(array, index);
  }

  public static void storeRelaxed(int[] array, int index, int value) {
    INTS.setOpaque(array, index, value);
  }

  public static void storeRelaxed(long[] array, int index, long value) {
    LONGS.setOpaque(array, index, value);
  }

  public static void storeRelaxed(float[] array, int index, float value) {
    FLOATS.setOpaque(array, index, value);
  }

  public static void storeRelaxed(double[] array, int index, double value) {
    DOUBLES.setOpaque(array, index, value);
  }

  public static void storeRelease(int[] array, int index, int value) {
    INTS.setRelease(array, index, value);
  }

  public static void storeRelease(long[] array, int index, long value) {
    LONGS.setRelease(array, index, value);
  }

  public static void storeRelease(float[] array, int index, float value) {
    FLOATS.setRelease(array, index, value);
  }

  public static void storeRelease(double[] array, int index, double value) {
    DOUBLES.setRelease(array, index, value);
  }
}
