package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Source;
import org.jspecify.annotations.Nullable;

/**
 * Something that a kernel did and that a GPU leaves undefined or stops at.
 *
 * @param place the thread that was found doing it, and its instruction
 * @param other the instruction and thread that it is in conflict with, which came first; null =
 *     none
 * @param memory the bytes that it is about, by buffer or variable; empty = none
 * @param what happened, after the words that name the place
 * @param remedy what would put it right; empty where the fault says so itself
 * @param times how often it happened between the two instructions
 */
public record Report(
    Kind kind,
    Place place,
    @Nullable Place other,
    String memory,
    String what,
    String remedy,
    long times) {

  /** What can be wrong. */
  public enum Kind {
    /** Bytes beyond a buffer, a variable or a state space. */
    OUT_OF_BOUNDS,
    MISALIGNED,
    NULL_POINTER,
    /** A buffer that was closed before the launch. */
    USE_AFTER_CLOSE,
    /** Bytes of a block that the kernel got from {@code malloc} and has freed. */
    USE_AFTER_FREE,
    /** {@code free} of what {@code malloc} has not returned, or of a block again. */
    INVALID_FREE,
    /** Bytes that nobody has written. */
    UNINITIALISED,

    /** Lanes of one instruction write different values to one place. */
    LANES_COLLIDE,
    /** Lanes of a warp, with no {@code bar.warp.sync} between. */
    RACE_IN_WARP,
    /** Warps of a block, with no barrier between. */
    RACE_IN_BLOCK,
    /** Blocks of a cluster, with no barrier of the cluster between. */
    RACE_IN_CLUSTER,
    /** Blocks of a launch, with no release and acquire between. */
    RACE_IN_GRID,
    /** An atomic instruction and a plain access, with nothing between. */
    ATOMIC_AND_PLAIN,
    /** Strong accesses of which one has a scope that leaves the other's thread out. */
    NARROW_SCOPE,
    /** {@code ld.global.nc} of what the same launch writes. */
    READ_ONLY_WRITTEN,

    /** An asynchronous copy whose destination is read before it is waited for. */
    COPY_NOT_AWAITED,
    /** An asynchronous copy whose source is written before it is waited for. */
    COPY_SOURCE_WRITTEN,
    /** An asynchronous copy whose destination is written before it is waited for. */
    COPY_TARGET_WRITTEN,
    /** An asynchronous copy that its thread never waited for. */
    COPY_LEFT_AT_EXIT,
    /** An asynchronous copy that is to read more than it copies. */
    COPY_SIZE,

    /** What goes on beside the threads uses what they wrote, with no proxy fence between. */
    PROXY_FENCE,
    /** A tensor map that the launch has changed is used without a fence for such maps. */
    TENSOR_MAP_FENCE,
    /** A tensor map that cannot be, or coordinates that do not fit it. */
    TENSOR_MAP,
    /** A block that a mask names and that the cluster has not. */
    ABSENT_BLOCK,

    /** No mbarrier is where an instruction looks for one. */
    MBARRIER_MISSING,
    /** An mbarrier that is made again and was not given up. */
    MBARRIER_REMADE,
    /** A count of arrivals that cannot be, or more arrivals than an mbarrier expects. */
    MBARRIER_COUNT,
    /** Bytes that an mbarrier was told of and that have not come, or the other way round. */
    MBARRIER_BYTES,
    /** An mbarrier that is given up while other threads or copies may use it. */
    MBARRIER_IN_USE,
    /** A parity to wait for that is neither 0 nor 1. */
    MBARRIER_PARITY,
    /** Something is stored where an mbarrier is. */
    MBARRIER_OVERWRITTEN,
    /** An mbarrier that its user need not see yet. */
    MBARRIER_NOT_VISIBLE,
    /** A phase of an mbarrier that ends before who waits for the last has gone on. */
    MBARRIER_OVERRUN,

    /** A product of a warpgroup uses registers that threads have touched without a fence. */
    PRODUCT_FENCE,
    /** Registers of a product are touched before it is waited for. */
    PRODUCT_NOT_AWAITED,
    /** A factor of a product is written before the product is waited for. */
    PRODUCT_OPERAND_WRITTEN,
    /** A product that its warpgroup never waited for. */
    PRODUCT_LEFT_AT_EXIT,

    /** All threads wait for one another. */
    DEADLOCK,
    /** Threads go round loops for ever. */
    LIVELOCK,
    /** A thread that has not ended when the launch has run as long as it may. */
    TIMEOUT,
    /** A barrier that not all threads of a warp execute together. */
    BARRIER_DIVERGENT,
    /** A barrier number or a count of threads that cannot be. */
    BARRIER_OPERAND,
    /** Threads at one barrier that wait for different counts. */
    BARRIER_COUNTS,
    /** Threads at one barrier of which some combine a predicate and some do not. */
    BARRIER_MIXED,
    /** A warp that comes to a barrier again before it has opened. */
    BARRIER_OVERRUN,
    /** A barrier that waits for threads that have ended. */
    BARRIER_ABANDONED,
    /** A thread that its own member mask leaves out, or masks that differ. */
    MEMBER_MASK,
    /** A lane that a member mask names and that does not come. */
    MEMBER_MISSING,
    /** A lane whose value is asked for and that takes no part. */
    INACTIVE_LANE,
    /** An instruction for whole warps that a part of one executes. */
    PARTIAL_WARP,
    /** A branch that is said to be uniform and is not. */
    DIVERGENT_UNIFORM,
    TRAP,
    /** An {@code assert} of the kernel. */
    ASSERTION,
    /** The shared memory of a block of the cluster that has ended. */
    PEER_ENDED,
    /** Another rule of an instruction, which the text names. */
    RULE
  }

  /** A block of its grid, or a thread of its block. */
  public record Index(int x, int y, int z) {
    @Override
    public String toString() {
      return "(%d,%d,%d)".formatted(x, y, z);
    }
  }

  /**
   * Who did something, and where.
   *
   * @param kernel its name
   * @param instruction its text
   * @param warp its number in the block
   */
  public record Place(
      String kernel,
      String instruction,
      Source source,
      Index block,
      Index thread,
      int warp,
      int lane) {

    /** The thread, its block, the instruction and its source. */
    @Override
    public String toString() {
      return "thread %s of block %s of kernel %s, \"%s\" at %s"
          .formatted(thread, block, kernel, instruction, source);
    }
  }

  /** One sentence. */
  @Override
  public String toString() {
    return place
        + ": "
        + what
        + (remedy.isEmpty() ? "" : "; " + remedy)
        + (times > 1 ? " (%d times)".formatted(times) : "");
  }
}
