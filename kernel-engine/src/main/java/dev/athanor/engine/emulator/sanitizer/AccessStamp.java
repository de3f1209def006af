package dev.athanor.engine.emulator.sanitizer;

/**
 * Who touched bytes, with which instruction and when, in 64 bits; 0 = nobody. Warps are numbered
 * through the blocks of a cluster. The time is that of the warp's clock, or the number of its group
 * for an asynchronous copy.
 */
public final class AccessStamp {

  static final int WEAK = 0;

  /** Strong towards threads of its block. */
  static final int BLOCK = 1;

  /** Strong towards threads of its cluster. */
  static final int CLUSTER = 2;

  /** Strong towards all threads. */
  static final int DEVICE = 3;

  private static final int LANE_AT = 17;
  private static final int WARP_AT = 22;
  private static final int STRENGTH_AT = 31;

  static final long ATOMIC = 1L << 33;
  static final long COPY = 1L << 34;

  /** By the path that is only for what nobody writes. */
  static final long READ_ONLY = 1L << 35;

  /** A {@link AsyncAccess}, whose number is in place of the time. */
  static final long FLIGHT = ATOMIC | COPY;

  private static final int TIME_AT = 36;

  /** Times from here on do not fit; {@link Sanitizer} stops the launch. */
  static final int END_OF_TIME = 1 << (64 - TIME_AT);

  /** Instructions from here on are all taken for the last. */
  private static final int LAST_INSTRUCTION = (1 << LANE_AT) - 1;

  private AccessStamp() {}

  /**
   * What is the same for all lanes of an instruction.
   *
   * @param instruction its number in the kernel
   * @param strength {@link #WEAK}, {@link #BLOCK}, {@link #CLUSTER} or {@link #DEVICE}
   * @param flags {@link #ATOMIC}, {@link #COPY}, {@link #FLIGHT}, {@link #READ_ONLY}
   */
  static long of(int instruction, int strength, long flags) {
    return Math.min(instruction, LAST_INSTRUCTION) | ((long) strength << STRENGTH_AT) | flags;
  }

  /** A mark with its thread and time. */
  static long at(long mark, int warp, int lane, int time) {
    return mark | ((long) lane << LANE_AT) | ((long) warp << WARP_AT) | ((long) time << TIME_AT);
  }

  /** The mark of another lane that did the same. */
  static long ofLane(long mark, int lane) {
    return (mark & ~(31L << LANE_AT)) | ((long) lane << LANE_AT);
  }

  static int instruction(long mark) {
    return (int) mark & LAST_INSTRUCTION;
  }

  static int lane(long mark) {
    return (int) (mark >>> LANE_AT) & 31;
  }

  /** The warp's number in its cluster. */
  static int warp(long mark) {
    return (int) (mark >>> WARP_AT) & 511;
  }

  /** The thread's number in its cluster. */
  static int thread(long mark) {
    return (int) (mark >>> LANE_AT) & 0x3FFF;
  }

  static int strength(long mark) {
    return (int) (mark >>> STRENGTH_AT) & 3;
  }

  static int time(long mark) {
    return (int) (mark >>> TIME_AT);
  }

  static boolean isFlight(long mark) {
    return (mark & FLIGHT) == FLIGHT;
  }

  static boolean has(long mark, long flag) {
    return (mark & flag) != 0;
  }
}
