package dev.athanor.engine.lift;

import dev.athanor.engine.lift.intrinsic.AsyncCopyLowerings;
import dev.athanor.engine.lift.intrinsic.Lowered;
import dev.athanor.engine.lift.ir.Effect;

/**
 * Copies from parameters of the kernel to shared arrays that run while the thread goes on (PTX:
 * {@code cp.async}). Each call of {@code copy} copies 16 bytes, from and to an index whose element
 * starts at a multiple of 16 bytes. {@link #commit} makes a group of the copies of this thread
 * since the last group, and {@link #await} waits for groups; then {@link Gpu#barrier} shows the
 * copied elements to the other threads. Plain Java copies at once. The methods need sm_80.
 */
public final class AsyncCopy {

  private AsyncCopy() {}

  /** Copies 16 bytes. */
  @Lowered(by = AsyncCopyLowerings.class, method = "copy", effect = Effect.WRITE)
  public static void copy(
      byte[] shared,
      @Lowered.Index(elements = 16) int to,
      @Lowered.ReadOnly byte[] source,
      @Lowered.Index(elements = 16) int from) {
    System.arraycopy(source, from, shared, to, 16);
  }

  /** Copies 8 shorts. */
  @Lowered(by = AsyncCopyLowerings.class, method = "copy", effect = Effect.WRITE)
  public static void copy(
      short[] shared,
      @Lowered.Index(elements = 8) int to,
      @Lowered.ReadOnly short[] source,
      @Lowered.Index(elements = 8) int from) {
    System.arraycopy(source, from, shared, to, 8);
  }

  /** Copies 4 ints. */
  @Lowered(by = AsyncCopyLowerings.class, method = "copy", effect = Effect.WRITE)
  public static void copy(
      int[] shared,
      @Lowered.Index(elements = 4) int to,
      @Lowered.ReadOnly int[] source,
      @Lowered.Index(elements = 4) int from) {
    System.arraycopy(source, from, shared, to, 4);
  }

  /** Copies 4 floats. */
  @Lowered(by = AsyncCopyLowerings.class, method = "copy", effect = Effect.WRITE)
  public static void copy(
      float[] shared,
      @Lowered.Index(elements = 4) int to,
      @Lowered.ReadOnly float[] source,
      @Lowered.Index(elements = 4) int from) {
    System.arraycopy(source, from, shared, to, 4);
  }

  /** Copies 2 longs. */
  @Lowered(by = AsyncCopyLowerings.class, method = "copy", effect = Effect.WRITE)
  public static void copy(
      long[] shared,
      @Lowered.Index(elements = 2) int to,
      @Lowered.ReadOnly long[] source,
      @Lowered.Index(elements = 2) int from) {
    System.arraycopy(source, from, shared, to, 2);
  }

  /** Copies 2 doubles. */
  @Lowered(by = AsyncCopyLowerings.class, method = "copy", effect = Effect.WRITE)
  public static void copy(
      double[] shared,
      @Lowered.Index(elements = 2) int to,
      @Lowered.ReadOnly double[] source,
      @Lowered.Index(elements = 2) int from) {
    System.arraycopy(source, from, shared, to, 2);
  }

  /** Makes a group of the copies of this thread that belong to none. */
  @Lowered(by = AsyncCopyLowerings.class, method = "commit", effect = Effect.WRITE)
  public static void commit() {}

  /**
   * Waits until at most {@code pending} of this thread's latest groups are not complete.
   *
   * @param pending a constant; 0 waits for all groups
   */
  @Lowered(by = AsyncCopyLowerings.class, method = "await", effect = Effect.WRITE)
  public static void await(int pending) {}
}
