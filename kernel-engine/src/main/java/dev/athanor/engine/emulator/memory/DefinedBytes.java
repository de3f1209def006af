package dev.athanor.engine.emulator.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/** Which bytes of a memory somebody has written: a bit each. Several workers may use one. */
public final class DefinedBytes {

  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] bits;

  public DefinedBytes(long bytes) {
    bits = new long[Math.toIntExact(Math.ceilDiv(bytes, 64))];
  }

  /** Forgets everything. */
  public void clear() {
    Arrays.fill(bits, 0);
  }

  /**
   * Which of some bytes that lie in one aligned group of 64 are defined: bit {@code i} is that of
   * byte {@code offset + i}.
   */
  public long of(long offset, int bytes) {
    return ((long) WORD.getOpaque(bits, (int) (offset >>> 6)) >>> offset) & ones(bytes);
  }

  /** Defines bytes of one aligned group of 64. */
  public void set(long offset, int bytes) {
    setAll(offset, ones(bytes));
  }

  /** Defines those bytes from an offset on whose bits are set. */
  public void setAll(long offset, long defined) {
    int at = (int) (offset >>> 6);
    long wanted = defined << offset;
    if (((long) WORD.getOpaque(bits, at) & wanted) != wanted) {
      WORD.getAndBitwiseOr(bits, at, wanted);
    }
  }

  /** Makes bytes undefined again. */
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

  /** Makes any number of bytes undefined again. */
  void unsetRange(long offset, long bytes) {
    long end = offset + bytes;
    for (long at = offset; at < end; ) {
      int count = (int) Math.min(64 - (at & 63), end - at);
      unset(at, count);
      at += count;
    }
  }

  /** Makes bytes as defined as others are. */
  public void copyRange(DefinedBytes from, long source, long target, long bytes) {
    for (long i = 0; i < bytes; i++) {
      if (from.of(source + i, 1) != 0) {
        set(target + i, 1);
      } else {
        unset(target + i, 1);
      }
    }
  }

  public static long ones(int bytes) {
    return bytes == 64 ? -1 : (1L << bytes) - 1;
  }
}
