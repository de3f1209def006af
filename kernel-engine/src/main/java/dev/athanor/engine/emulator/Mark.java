package dev.athanor.engine.emulator;

/**
 * Who touched bytes, with which instruction and when, in 64 bits; 0 = nobody. The time is that of
 * the warp's clock, or the number of its group for an asynchronous copy.
 */
final class Mark {

  static final int WEAK = 0;

  /** Strong towards threads of its block. */
  static final int NARROW = 1;

  /** Strong towards all threads. */
  static final int WIDE = 2;

  static final long ATOMIC = 1L << 32;
  static final long COPY = 1L << 33;

  /** By the path that is only for what nobody writes. */
  static final long READ_ONLY = 1L << 34;

  private static final int INSTRUCTION_BITS = 20;
  private static final int TIME_AT = 35;

  /** Beyond this the time does not fit. */
  static final int LAST_TIME = 1 << (63 - TIME_AT);

  private Mark() {}

  /**
   * What is the same for all lanes of an instruction.
   *
   * @param instruction its number in the kernel
   * @param strength {@link #WEAK}, {@link #NARROW} or {@link #WIDE}
   * @param flags {@link #ATOMIC}, {@link #COPY}, {@link #READ_ONLY}
   */
  static long of(int instruction, int strength, long flags) {
    return instruction & ((1 << INSTRUCTION_BITS) - 1) | ((long) strength << 30) | flags;
  }

  /** A mark with its thread and time. */
  static long at(long mark, int warp, int lane, int time) {
    return mark
        | ((long) lane << INSTRUCTION_BITS)
        | ((long) warp << 25)
        | ((long) time << TIME_AT);
  }

  static int instruction(long mark) {
    return (int) mark & ((1 << INSTRUCTION_BITS) - 1);
  }

  static int lane(long mark) {
    return (int) (mark >>> INSTRUCTION_BITS) & 31;
  }

  static int warp(long mark) {
    return (int) (mark >>> 25) & 31;
  }

  /** The thread's number in its block. */
  static int thread(long mark) {
    return (int) (mark >>> INSTRUCTION_BITS) & 1023;
  }

  static int strength(long mark) {
    return (int) (mark >>> 30) & 3;
  }

  static int time(long mark) {
    return (int) (mark >>> TIME_AT);
  }

  static boolean has(long mark, long flag) {
    return (mark & flag) != 0;
  }
}
