package dev.athanor.engine.emulator.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/** A bitmap of the bytes of a memory that have been written. It is thread-safe. */
public final class DefinedBytes {

  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] bits;

  public DefinedBytes(long bytes) {
    bits = new long[Math.toIntExact(Math.ceilDiv(bytes, 64))];
  }

  /** Makes all bytes undefined. */
  public void clear() {
    Arrays.fill(bits, 0);
  }

  /**
   * Returns which bytes are defined: bit {@code i} stands for byte {@code offset + i}. The bytes
   * must lie in one aligned group of 64.
   */
  public long of(long offset, int bytes) {
    return ((long) WORD.getOpaque(bits, (int) (offset >>> 6)) >>> offset) & ones(bytes);
  }

  /** Defines bytes of one aligned group of 64. */
  public void set(long offset, int bytes) {
    setAll(offset, ones(bytes));
  }

  /** Defines the bytes {@code offset + i} for which bit {@code i} is set, in one group of 64. */
  public void setAll(long offset, long defined) {
    int at = (int) (offset >>> 6);
    long wanted = defined << offset;
    if (((long) WORD.getOpaque(bits, at) & wanted) != wanted) {
      WORD.getAndBitwiseOr(bits, at, wanted);
    }
  }

  /** Makes bytes of one aligned group of 64 undefined. */
  public void unset(long offset, int bytes) {
    WORD.getAndBitwiseAnd(bits, (int) (offset >>> 6), ~(ones(bytes) << offset));
  }

  /** Defines any number of bytes. */
  public void setRange(long offset, long bytes) {
    long end = offset + bytes;
    for (long at = offset; at < end; ) {
      int count = (int) Math.min(64 - (at & 63), end - at);
      set(at, count);
      at += count;
    }
  }

  /** Makes any number of bytes undefined. */
  void unsetRange(long offset, long bytes) {
    long end = offset + bytes;
    for (long at = offset; at < end; ) {
      int count = (int) Math.min(64 - (at & 63), end - at);
      unset(at, count);
      at += count;
    }
  }

  /** Copies the definedness of bytes from another bitmap. */
  public void copyRange(DefinedBytes from, long source, long target, long bytes) {
    for (long i = 0; i < bytes; i++) {
      if (from.of(source + i, 1) != 0) {
        set(target + i, 1);
      } else {
        unset(target + i, 1);
      }
    }
  }

  /** A mask of {@code bytes} ones, 0 to 64. */
  public static long ones(int bytes) {
    return bytes == 64 ? -1 : (1L << bytes) - 1;
  }
}
