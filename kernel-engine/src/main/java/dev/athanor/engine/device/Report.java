package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Source;
import org.jspecify.annotations.Nullable;

/**
 * A finding: a fault or undefined behavior of a kernel.
 *
 * @param place the thread and instruction of the finding
 * @param other the earlier thread and instruction that it conflicts with; null if there is none
 * @param memory the bytes concerned, by buffer or variable; empty if there are none
 * @param what the description, without the place
 * @param remedy how to fix it; empty if the description says so
 * @param times number of occurrences between the two instructions
 */
public record Report(
    Kind kind,
    Place place,
    @Nullable Place other,
    String memory,
    String what,
    String remedy,
    long times) {

  /** The kinds of findings. */
  public enum Kind {
    OUT_OF_BOUNDS("An access beyond a buffer, a variable or a state space."),
    MISALIGNED("An address that is not a multiple of the required alignment."),
    NULL_POINTER("An access near address 0, in no buffer."),
    USE_AFTER_CLOSE("An access to a buffer that was closed before the launch."),
    USE_AFTER_FREE("An access to a freed block of the device heap."),
    INVALID_FREE("A free of a pointer that malloc did not return, or a double free."),
    UNINITIALISED("A read of bytes that were never written."),

    LANES_COLLIDE("Lanes of one instruction write different values to one address."),
    RACE_IN_WARP("A race between lanes of a warp, without bar.warp.sync."),
    RACE_IN_BLOCK("A race between warps of a block, without a barrier."),
    RACE_IN_CLUSTER("A race between blocks of a cluster, without a cluster barrier."),
    RACE_IN_GRID("A race between blocks of a grid, without release and acquire."),
    ATOMIC_AND_PLAIN("A race between an atomic and a plain access."),
    NARROW_SCOPE("Strong accesses, one of whose scopes excludes the other's thread."),
    READ_ONLY_WRITTEN("A ld.global.nc of memory that the same launch writes."),
    GRID_NOT_AWAITED(
        "An access of a dependent launch to memory of an earlier one, without griddepcontrol.wait."),

    COPY_NOT_AWAITED("A read of an asynchronous copy's destination before the copy is waited for."),
    COPY_SOURCE_WRITTEN("A write to an asynchronous copy's source before the copy is waited for."),
    COPY_TARGET_WRITTEN(
        "A write to an asynchronous copy's destination before the copy is waited for."),
    COPY_LEFT_AT_EXIT("An asynchronous copy that its thread never waited for."),
    COPY_SIZE("An asynchronous copy that reads more bytes than it copies."),

    PROXY_FENCE("The asynchronous proxy accesses generic writes without a proxy fence."),
    TENSOR_MAP_FENCE("A use of a modified tensor map without a tensor-map fence."),
    TENSOR_MAP("An invalid tensor map, or coordinates that do not match it."),
    ABSENT_BLOCK("A mask names a block that the cluster does not have."),

    MBARRIER_MISSING("An mbarrier operation at an address without an mbarrier."),
    MBARRIER_REMADE("An mbarrier that is initialized again without being invalidated."),
    MBARRIER_COUNT("An invalid arrival count, or more arrivals than expected."),
    MBARRIER_BYTES("Expected transaction bytes that did not arrive, or vice versa."),
    MBARRIER_IN_USE("An mbarrier that is invalidated while threads or copies may use it."),
    MBARRIER_PARITY("A wait for a parity other than 0 or 1."),
    MBARRIER_OVERWRITTEN("A store to an mbarrier."),
    MBARRIER_NOT_VISIBLE("A use of an mbarrier whose initialization is not yet visible."),
    MBARRIER_OVERRUN("An mbarrier phase that completes before waiters of the previous one resume."),

    PRODUCT_FENCE("A wgmma uses registers accessed before without a fence."),
    PRODUCT_NOT_AWAITED("An access to the sums of a product before it is waited for."),
    PRODUCT_OPERAND_WRITTEN("A write to an operand of a product before it is waited for."),
    PRODUCT_LEFT_AT_EXIT("A product that no thread waited for."),

    DEADLOCK("All threads wait for each other."),
    LIVELOCK("Threads loop forever without effect."),
    TIMEOUT("A thread that is still running when the launch times out."),
    BARRIER_DIVERGENT("A barrier that a diverged warp executes."),
    BARRIER_OPERAND("An invalid barrier number or thread count."),
    BARRIER_COUNTS("Threads at one barrier with different thread counts."),
    BARRIER_MIXED("Threads at one barrier, only some of which reduce a predicate."),
    BARRIER_OVERRUN("A warp that arrives at a barrier again before it completes."),
    BARRIER_ABANDONED("A barrier that waits for exited threads."),
    MEMBER_MASK("A member mask without the executing lane, or different masks."),
    MEMBER_MISSING("A lane of the member mask that does not arrive."),
    INACTIVE_LANE("A read from an inactive lane."),
    PARTIAL_WARP("A warp-wide instruction executed by a part of a warp."),
    DIVERGENT_UNIFORM("A branch marked uniform that diverges."),
    TRAP("A trap of the kernel."),
    ASSERTION("An assert of the kernel."),
    PEER_ENDED("An access to the shared memory of an exited block of the cluster."),
    RULE("Another rule of an instruction, named in the text.");

    private final String description;

    Kind(String description) {
      this.description = description;
    }

    /** Returns what the kind stands for, as a sentence. */
    public String description() {
      return description;
    }
  }

  /** A block of its grid, or a thread of its block. */
  public record Index(int x, int y, int z) {
    @Override
    public String toString() {
      return "(%d,%d,%d)".formatted(x, y, z);
    }
  }

  /**
   * A thread and the instruction that it executes.
   *
   * @param kernel name of the kernel
   * @param instruction text of the instruction
   * @param warp index of the warp in the block
   */
  public record Place(
      String kernel,
      String instruction,
      Source source,
      Index block,
      Index thread,
      int warp,
      int lane) {

    /** Returns thread, block, instruction and source line. */
    @Override
    public String toString() {
      return "thread %s of block %s of kernel %s, \"%s\" at %s"
          .formatted(thread, block, kernel, instruction, source);
    }
  }

  /** Returns the finding as one sentence. */
  @Override
  public String toString() {
    return place
        + ": "
        + what
        + (remedy.isEmpty() ? "" : "; " + remedy)
        + (times > 1 ? " (%d times)".formatted(times) : "");
  }
}
