package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;
import java.util.List;

/**
 * The kinds of instruction semantics, by scope of execution. Each consumer (binder, profiler,
 * sanitizer, lints) switches over all kinds without a default branch: a new instruction of a known
 * kind needs no change there, and a new kind does not compile until each consumer handles it.
 */
public sealed interface Semantics {
  /** Computes from registers to registers. */
  sealed interface Computation extends Semantics {}

  /** Accesses memory; the access has completed when the next instruction executes. */
  sealed interface Access extends Semantics {}

  /** Starts work that completes later than the instruction. */
  sealed interface Asynchronous extends Semantics {}

  /** Groups asynchronous work, waits for it, or operates on an mbarrier. */
  sealed interface Completion extends Semantics {}

  /** Orders memory accesses or synchronizes threads. */
  sealed interface Synchronization extends Semantics {}

  /** Modifies or copies a tensor map. */
  sealed interface TensorMapUpdate extends Semantics {}

  /** Determines the next instruction. */
  sealed interface Control extends Semantics {}

  /**
   * Computes lane by lane and without memory. Result {@code i} is the value of the lane function
   * {@code functions[i]}, whose overload the row's types select; {@code f>g} passes the value of
   * {@code f} and the remaining sources to {@code g}. The carry flag, if used, is an implicit last
   * source or last result.
   *
   * @param operation class of computation, with the facts that consumers need
   */
  record Pure(LaneOperation operation, List<String> functions, Carry carry) implements Computation {
    public Pure {
      functions = List.copyOf(functions);
    }
  }

  /** The use of the thread's carry flag. */
  record Carry(boolean isRead, boolean isWritten) {
    /** Does not use the flag. */
    public static final Carry NONE = new Carry(false, false);

    /** Adds the flag. */
    public static final Carry IN = new Carry(true, false);

    /** Returns the same use for an instruction that also writes the flag. */
    public Carry written() {
      return new Carry(isRead, true);
    }
  }

  /**
   * A class of lane-by-lane computation. Consumers decide by the columns of this enum, so a new
   * class must state all of them.
   */
  enum LaneOperation {
    /** Copies or packs registers: {@code mov}. */
    MOVE(Work.NONE, Nans.COPIED, true),
    /** Converts addresses between state spaces: {@code cvta}. */
    ADDRESS(Work.NONE, Nans.PRESERVED, false),
    /** Converts between types: {@code cvt}. */
    CONVERSION(Work.CONVERSION, Nans.CONVERTED, false),
    /** A sum, difference or product. */
    ARITHMETIC(Work.ARITHMETIC, Nans.NATIVE, true),
    /** A multiply-add, which counts as two floating-point operations. */
    MULTIPLY_ADD(Work.MULTIPLY_ADD, Nans.NATIVE, true),
    /** A quotient. */
    DIVISION(Work.SPECIAL, Nans.CANONICAL, false),
    /** A reciprocal, root, exponential or similar function. */
    SPECIAL(Work.SPECIAL, Nans.CANONICAL, false),
    /** A minimum or maximum. */
    MIN_MAX(Work.LOGIC, Nans.CANONICAL, false),
    /** Tests the class of a floating-point number: {@code testp}. */
    CLASSIFICATION(Work.LOGIC, Nans.CANONICAL, false),
    /** Compares two numbers. */
    COMPARISON(Work.LOGIC, Nans.CANONICAL, false),
    /** Bitwise AND, which can mask the lane out of a thread index. */
    BITWISE_AND(Work.LOGIC, Nans.PRESERVED, true),
    /** A right shift, which can drop the lane from a thread index. */
    SHIFT_RIGHT(Work.LOGIC, Nans.PRESERVED, true),
    /** Other bitwise logic and shifts. */
    BITWISE(Work.LOGIC, Nans.PRESERVED, true),
    /** Copies one of two operands; the last operand, to which {@code .ftz} applies, selects it. */
    SELECTION(Work.LOGIC, Nans.PRESERVED, false),
    /** Any other computation. */
    OTHER(Work.LOGIC, Nans.PRESERVED, false);

    private final Work work;
    private final Nans nans;
    private final boolean vectorizable;

    LaneOperation(Work work, Nans nans, boolean vectorizable) {
      this.work = work;
      this.nans = nans;
      this.vectorizable = vectorizable;
    }

    /** Returns the execution unit. */
    public Work work() {
      return work;
    }

    /** Returns the handling of f32 NaNs. */
    public Nans nans() {
      return nans;
    }

    /** Returns whether C2 auto-vectorizes a loop of the operation over lanes. */
    public boolean isVectorizable() {
      return vectorizable;
    }
  }

  /** The cost of a lane operation. The operation type refines the unit. */
  enum Work {
    /** No cost: an assembler folds it into operands of other instructions. */
    NONE,
    /** Conversion unit. */
    CONVERSION,
    /** One floating-point operation per result; integer unit for integers. */
    ARITHMETIC,
    /** Two floating-point operations per result; integer unit for integers. */
    MULTIPLY_ADD,
    /** Special function unit, except for f64 and integers. */
    SPECIAL,
    /** Integer unit, except for f64. */
    LOGIC
  }

  /** The handling of f32 NaNs. */
  enum Nans {
    /** Accepts any NaN and returns the NaN of the JVM's arithmetic. */
    NATIVE,
    /** Accepts any NaN and returns only the canonical NaN. */
    CANONICAL,
    /** Copies the bits of its source. */
    COPIED,
    /** Converts; only floating-point sources can be NaN. */
    CONVERTED,
    /** Propagates or exposes the bits of a NaN. */
    PRESERVED
  }

  /** Computes for all 32 lanes of a warp at once and synchronizes them. */
  record Warp(WarpKind kind, WarpFunction function) implements Computation {}

  /** A kind of {@link Warp} instruction. */
  enum WarpKind {
    /** Multiplies matrices. */
    MATRIX_PRODUCT,
    /** Transposes a matrix. */
    TRANSPOSE,
    SHUFFLE,
    VOTE,
    MATCH,
    REDUCTION,
    ELECTION,
    /** {@code wgmma.fence}: permits products to use registers that threads have accessed. */
    PRODUCT_FENCE,
    /** Changes the number of registers per thread. */
    REGISTER_COUNT
  }

  /**
   * Computes for the lanes of a warp that happen to execute together, without waiting for others.
   */
  record Converged(WarpFunction function) implements Computation {}

  /** Synchronizes the lanes of its mask; later accesses see earlier ones. */
  record WarpBarrier() implements Synchronization {}

  /** Reads memory at each lane's address: one value or a vector of the operation type. */
  record Load() implements Access {}

  /** Writes memory at each lane's address. */
  record Store() implements Access {}

  /**
   * {@code ldmatrix}: lane {@code 8m + r} provides the shared address of row {@code r} (16 bytes)
   * of matrix {@code m}; each lane receives two 16-bit elements of each matrix, as the fragment
   * defines.
   */
  record LoadMatrix(Fragment fragment) implements Access {}

  /** {@code stmatrix}: the inverse of {@code ldmatrix}. */
  record StoreMatrix(Fragment fragment) implements Access {}

  /** {@code wmma.load}: a warp loads a matrix into the registers of its {@code wmma} fragment. */
  record LoadTile() implements Access {}

  /** {@code wmma.store}: the inverse of {@code wmma.load}. */
  record StoreTile() implements Access {}

  /** Copies from global to shared memory asynchronously. */
  record AsyncCopy() implements Asynchronous {}

  /** Commits the thread's copies since the last group as a new group. */
  record CommitGroup() implements Completion {}

  /**
   * Waits until at most N of the thread's newest groups are pending, where N is the operand;
   * without an operand, until all its copies are complete.
   */
  record WaitGroup() implements Completion {}

  /**
   * Atomically replaces the value at each lane's address by a function of it.
   *
   * @param returnsOld whether the result is the old value ({@code atom}); {@code red} has no result
   */
  record Atomic(AtomicFunction function, boolean returnsOld) implements Access {}

  /** Computes the value that an {@link Atomic} instruction writes. */
  @FunctionalInterface
  interface AtomicFunction {
    /**
     * Returns the new value. Values are the bits of the operation type, zero-extended; only the low
     * bits of the result count.
     *
     * @param old value in memory
     * @param c 0 if the instruction has no such operand
     * @param global whether the address is in global memory
     */
    long apply(long old, long b, long c, boolean global);
  }

  /** Orders the thread's accesses before and after it. */
  record Fence(FenceKind kind) implements Synchronization {}

  /** A kind of {@link Fence}. */
  enum FenceKind {
    /** Accesses of this thread and of others ({@code fence}, {@code membar}). */
    MEMORY,
    /** Accesses to one location at different virtual addresses. */
    ALIAS,
    /** Accesses of the generic and the async proxy. */
    ASYNC_PROXY,
    /** Modifications of tensor maps and copies that use them. */
    TENSOR_MAP,
    /** Initializations of mbarriers. */
    MBARRIER_INIT
  }

  /** A hint to the hardware, without effect on values. */
  record NoEffect() implements Semantics {}

  /** Aborts the kernel. */
  record Trap() implements Control {}

  /**
   * Synchronizes threads of the block; later accesses see earlier ones.
   *
   * @param aligned whether all threads of a warp execute it together even without {@code .aligned}
   */
  record Barrier(BarrierKind kind, boolean aligned) implements Synchronization {}

  /** Returns the rank of the block that owns a shared-memory address. */
  record ClusterRank() implements Computation {}

  /** Arrives at the cluster barrier. */
  record ClusterArrive() implements Synchronization {}

  /** Waits until all threads of the cluster have arrived. */
  record ClusterWait() implements Synchronization {}

  /**
   * {@code griddepcontrol.wait}: waits until the previous launch of the stream has completed and
   * its writes are visible. Returns at once unless the launch is a dependent one.
   */
  record AwaitPreviousGrid() implements Synchronization {}

  /** {@code griddepcontrol.launch_dependents}: lets dependent launches of the stream begin. */
  record LaunchDependents() implements Synchronization {}

  /** An operation on a {@link Barrier}. */
  enum BarrierKind {
    /** Waits. */
    SYNC,
    /** Arrives without waiting. */
    ARRIVE,
    /** Waits and returns the number of threads with a true predicate. */
    COUNT,
    /** Waits and returns whether the predicate is true for all threads. */
    ALL,
    /** Waits and returns whether the predicate is true for any thread. */
    ANY;

    /** Returns whether the operation reduces a predicate. */
    public boolean reduces() {
      return this == COUNT || this == ALL || this == ANY;
    }
  }

  /**
   * An operation on an mbarrier, which counts arrivals and transaction bytes (PTX ISA 9.7.13.15).
   */
  record Mbarrier(MbarrierKind kind) implements Completion {}

  /** A kind of {@link Mbarrier} operation. */
  enum MbarrierKind {
    INIT,
    INVAL,
    /** Increments the expected transaction bytes. */
    EXPECT,
    /** Decrements the expected transaction bytes. */
    COMPLETE,
    ARRIVE,
    /** Arrives and decrements the expected arrivals of later phases. */
    DROP,
    /** Tests whether a phase is complete. */
    TEST_WAIT,
    /** Tests whether a phase is complete; may wait for it. */
    TRY_WAIT
  }

  /** Arrives at an {@link Mbarrier} once all prior copies of the thread are complete. */
  record CopyArrive() implements Completion {}

  /** Copies or reduces contiguous bytes asynchronously. */
  record BulkCopy() implements Asynchronous {}

  /** Copies or reduces a tile of a tensor asynchronously. */
  record TensorCopy() implements Asynchronous {}

  /** Commits the thread's bulk copies since the last group as a new group. */
  record CommitBulk() implements Completion {}

  /**
   * Waits until at most N of the thread's newest groups of bulk copies are pending; with {@code
   * .read}, until they have read their sources.
   */
  record WaitBulk() implements Completion {}

  /**
   * Stores a value in shared memory of the cluster and signals an mbarrier there.
   *
   * @param reduces whether the value is combined with the old one ({@code red.async})
   */
  record StoreAsync(boolean reduces) implements Asynchronous {}

  /** Modifies a field of a tensor map. */
  record ReplaceInTensorMap() implements TensorMapUpdate {}

  /** Copies a tensor map from shared to global memory. */
  record CopyTensorMap() implements TensorMapUpdate {}

  /** Multiplies matrices asynchronously with the four warps of a warpgroup (PTX ISA 9.7.15.5). */
  record Wgmma() implements Asynchronous {}

  /** Commits the products since the last group as a new group. */
  record WgmmaCommit() implements Completion {}

  /**
   * Waits until at most N of the newest groups are pending, where N is the operand; without an
   * operand, for all products, committed or not.
   */
  record WgmmaWait() implements Completion {}

  /** An instruction for tensor memory or the products in it (PTX ISA 9.7.16). */
  record TensorMemory(TensorMemoryKind kind) implements Asynchronous {}

  /** A kind of {@link TensorMemory} instruction. */
  enum TensorMemoryKind {
    /** Allocates columns and stores their address in shared memory. */
    ALLOCATE,
    DEALLOCATE,
    /** Promises that the block allocates no more. */
    RELINQUISH,
    /** Copies words to registers. */
    LOAD,
    /** Copies registers to words. */
    STORE,
    /** Waits for the loads of the thread. */
    WAIT_LOADS,
    /** Waits for the stores of the thread. */
    WAIT_STORES,
    /** Multiplies matrices. */
    MULTIPLY,
    /** Arrives at an mbarrier once the products of the thread are complete. */
    COMMIT,
    /** Orders the other kinds and the synchronization of threads. */
    FENCE
  }

  /** Jumps to a label. */
  record Branch() implements Control {}

  /** Jumps to the label that the operand selects from a target list. */
  record IndexedBranch() implements Control {}

  /** Calls a function; the inliner replaces it by the function's body. */
  record Call() implements Control {}

  /**
   * Calls a function of the device runtime. The operands are addresses of local variables: the
   * result, if any, and the arguments.
   */
  record RuntimeCall(RuntimeFunction function) implements Control {}

  /**
   * Ends the thread.
   *
   * @param returns whether it returns to the caller in a function ({@code ret})
   */
  record Exit(boolean returns) implements Control {}
}
