package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Type;

/** Floating-point additions of {@code atom} and {@code red}, on bits (PTX ISA 9.7.13.7). */
public final class Atomics {

  private Atomics() {}

  /** Adds; flushes subnormals to zero in global memory, but not in shared memory. */
  public static long addFloat(long old, long b, long unused, boolean global) {
    float x = Float.intBitsToFloat((int) old);
    float y = Float.intBitsToFloat((int) b);
    float sum =
        global ? LaneFunctions.flush(LaneFunctions.flush(x) + LaneFunctions.flush(y)) : x + y;
    return Float.floatToRawIntBits(sum);
  }

  public static long addDouble(long old, long b, long unused, boolean global) {
    return Double.doubleToRawLongBits(Double.longBitsToDouble(old) + Double.longBitsToDouble(b));
  }

  public static long addHalf(long old, long b, long unused, boolean global) {
    return sum((int) old, (int) b, Type.F16);
  }

  public static long addBfloat(long old, long b, long unused, boolean global) {
    return sum((int) old, (int) b, Type.BF16);
  }

  private static long sum(int a, int b, Type type) {
    float sum = SmallFloat.decode(a & 0xFFFF, type) + SmallFloat.decode(b & 0xFFFF, type);
    return SmallFloat.encode(sum, type);
  }
}
