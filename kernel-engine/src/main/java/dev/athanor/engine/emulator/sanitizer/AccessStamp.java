package dev.athanor.engine.emulator.sanitizer;

/**
 * The last access to some bytes in 64 bits: thread, instruction, strength and time; 0 = none. Warps
 * are numbered through the blocks of a cluster. The time is that of the warp's clock; for {@code
 * cp.async} it is the number of its batch.
 */
final class AccessStamp {

  static final int WEAK = 0;

  /** Strong at the scope of the block. */
  static final int BLOCK = 1;

  /** Strong at the scope of the cluster. */
  static final int CLUSTER = 2;

  /** Strong at the scope of the device. */
  static final int DEVICE = 3;

  private static final int LANE_AT = 17;
  private static final int WARP_AT = 22;
  private static final int STRENGTH_AT = 31;

  static final long ATOMIC = 1L << 33;

  /** {@code cp.async}. */
  static final long COPY = 1L << 34;

  /** By the read-only path, {@code ld.global.nc}. */
  static final long READ_ONLY = 1L << 35;

  /** An {@link AsyncAccess}, whose number takes the place of the time. */
  static final long ASYNC = ATOMIC | COPY;

  private static final int TIME_AT = 36;

  /** The first time that does not fit; {@link BlockSanitizer} stops the launch. */
  static final int END_OF_TIME = 1 << (64 - TIME_AT);

  /** The number that stands for this and all later instructions. */
  private static final int LAST_INSTRUCTION = (1 << LANE_AT) - 1;

  private AccessStamp() {}

  /**
   * Returns the part of the stamps that all executions of an instruction share.
   *
   * @param instruction its number in the kernel
   * @param strength {@link #WEAK}, {@link #BLOCK}, {@link #CLUSTER} or {@link #DEVICE}
   * @param flags {@link #ATOMIC}, {@link #COPY}, {@link #ASYNC}, {@link #READ_ONLY}
   */
  static long of(int instruction, int strength, long flags) {
    return Math.min(instruction, LAST_INSTRUCTION) | ((long) strength << STRENGTH_AT) | flags;
  }

  /** Returns a stamp with its thread and time. */
  static long at(long shared, int warp, int lane, int time) {
    return shared | ((long) lane << LANE_AT) | ((long) warp << WARP_AT) | ((long) time << TIME_AT);
  }

  /** Returns the stamp of another lane that took part in the same access. */
  static long ofLane(long stamp, int lane) {
    return (stamp & ~(31L << LANE_AT)) | ((long) lane << LANE_AT);
  }

  static int instruction(long stamp) {
    return (int) stamp & LAST_INSTRUCTION;
  }

  static int lane(long stamp) {
    return (int) (stamp >>> LANE_AT) & 31;
  }

  /** Returns the number of the warp in its cluster. */
  static int warp(long stamp) {
    return (int) (stamp >>> WARP_AT) & 511;
  }

  /** Returns the number of the thread in its cluster. */
  static int thread(long stamp) {
    return (int) (stamp >>> LANE_AT) & 0x3FFF;
  }

  static int strength(long stamp) {
    return (int) (stamp >>> STRENGTH_AT) & 3;
  }

  static int time(long stamp) {
    return (int) (stamp >>> TIME_AT);
  }

  static boolean isAsync(long stamp) {
    return (stamp & ASYNC) == ASYNC;
  }

  static boolean has(long stamp, long flag) {
    return (stamp & flag) != 0;
  }
}
