package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;
import java.util.List;

/**
 * The kinds of meaning that an instruction can have, by the scope in which it executes. Each
 * consumer (binder, profiler, sanitizer, lints) switches over all of them without a default branch:
 * a new instruction of a known kind needs no change there, and a new kind does not compile until
 * each consumer handles it.
 */
public sealed interface Semantics {

  /** Computes from registers to registers. */
  sealed interface Computation extends Semantics {}

  /** Reads or writes memory, which it has done when the next instruction executes. */
  sealed interface Access extends Semantics {}

  /** Starts work that completes later than the instruction. */
  sealed interface Asynchronous extends Semantics {}

  /** Groups asynchronous work, waits for it, or operates on an mbarrier. */
  sealed interface Completion extends Semantics {}

  /** Orders memory accesses or makes threads wait for one another. */
  sealed interface Synchronization extends Semantics {}

  /** Changes or copies a tensor map. */
  sealed interface TensorMapUpdate extends Semantics {}

  /** Decides which instruction executes next. */
  sealed interface Control extends Semantics {}

  /**
   * Computes lane by lane and without memory: result {@code i} is the value of the lane function
   * {@code functions[i]}, whose overload the row's types select; {@code f>g} passes the value of
   * {@code f} and the remaining sources to {@code g}. An instruction that uses the carry flag of
   * the thread has it as last source and as last result, which are not written out.
   *
   * @param operation the class of computation, with what it implies for consumers
   */
  record Pure(LaneOperation operation, List<String> functions, Carry carry) implements Computation {
    public Pure {
      functions = List.copyOf(functions);
    }
  }

  /**
   * How an instruction uses the carry flag of its thread.
   *
   * @param isBorrow whether the flag is that of a difference
   */
  record Carry(boolean isRead, boolean isWritten, boolean isBorrow) {

    /** It does not use the flag. */
    public static final Carry NONE = new Carry(false, false, false);

    /** It adds the flag. */
    public static final Carry IN = new Carry(true, false, false);

    /** It is a difference, which may write the flag. */
    public static final Carry BORROW = new Carry(false, false, true);

    /** It subtracts the flag. */
    public static final Carry BORROW_IN = new Carry(true, false, true);

    /** The same for an instruction that also writes the flag. */
    public Carry written() {
      return new Carry(isRead, true, isBorrow);
    }
  }

  /**
   * A class of lane-by-lane computation. Each column of the enum is a fact that some consumer
   * decides by; a new class states all of them.
   */
  enum LaneOperation {
    /** Copies or packs registers: {@code mov}. */
    MOVE(Work.NONE, Nans.COPIED, true),
    /** Converts addresses between state spaces: {@code cvta}. */
    ADDRESS(Work.NONE, Nans.PRESERVED, false),
    /** Converts between types: {@code cvt}. */
    CONVERSION(Work.CONVERSION, Nans.CONVERTED, false),
    /** A sum, a difference or a product. */
    ARITHMETIC(Work.ARITHMETIC, Nans.NATIVE, true),
    /** A product and a sum, which count as two floating-point operations. */
    MULTIPLY_ADD(Work.MULTIPLY_ADD, Nans.NATIVE, true),
    /** A quotient. */
    DIVISION(Work.SPECIAL, Nans.CANONICAL, false),
    /** A reciprocal, a root, an exponential or such. */
    SPECIAL(Work.SPECIAL, Nans.CANONICAL, false),
    /** A minimum, a maximum, or a test of what a number is. */
    EXTREMUM(Work.LOGIC, Nans.CANONICAL, false),
    /** Compares two numbers. */
    COMPARISON(Work.LOGIC, Nans.CANONICAL, false),
    /** The conjunction of bits, which may mask the lane of a thread number. */
    MASK(Work.LOGIC, Nans.PRESERVED, true),
    /** A shift to the right, which may drop the lane of a thread number. */
    SHIFT_RIGHT(Work.LOGIC, Nans.PRESERVED, true),
    /** Other bitwise logic and shifts. */
    BITWISE(Work.LOGIC, Nans.PRESERVED, true),
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

    /** The execution unit that it takes. */
    public Work work() {
      return work;
    }

    /** How it treats the NaNs of f32. */
    public Nans nans() {
      return nans;
    }

    /** Whether the JIT makes vector instructions of a loop of it over lanes. */
    public boolean isVectorizable() {
      return vectorizable;
    }
  }

  /** What a lane operation costs; the operation type then selects the unit. */
  enum Work {
    /** None: an assembler turns it into an operand of other instructions. */
    NONE,
    /** The conversion unit. */
    CONVERSION,
    /** One floating-point operation for each result; integers take the integer unit. */
    ARITHMETIC,
    /** Two floating-point operations for each result; integers take the integer unit. */
    MULTIPLY_ADD,
    /** The special function unit, except for f64 and integers. */
    SPECIAL,
    /** The integer unit, except for f64. */
    LOGIC
  }

  /** How an operation treats the NaNs of f32. */
  enum Nans {
    /** It gives whatever NaN the JVM's arithmetic gives, and takes all NaNs alike. */
    NATIVE,
    /** It takes all NaNs alike and gives no NaN but the canonical one. */
    CANONICAL,
    /** It copies the bits of its source. */
    COPIED,
    /** It converts: NaNs come from floating-point sources only. */
    CONVERTED,
    /** It passes on or shows the bits of a NaN. */
    PRESERVED
  }

  /** Computes for all 32 lanes at once, which it makes wait for one another. */
  record Warp(WarpKind kind, WarpFunction function) implements Computation {}

  /** A kind of {@link Warp} instruction. */
  enum WarpKind {
    /** Multiplies matrices. */
    MATRIX_PRODUCT,
    /** Transposes a matrix. */
    TRANSPOSITION,
    SHUFFLE,
    VOTE,
    MATCH,
    REDUCTION,
    ELECTION,
    /** {@code wgmma.fence}: lets products use registers that the threads have accessed. */
    PRODUCT_FENCE,
    /** Changes how many registers the threads have. */
    REGISTER_COUNT
  }

  /**
   * Computes for those lanes of a warp that happen to execute it together; they wait for no others.
   */
  record Converged(WarpFunction function) implements Computation {}

  /**
   * The lanes that its mask names wait for one another; their accesses before are seen by them
   * after.
   */
  record WarpBarrier() implements Synchronization {}

  /**
   * Reads memory at each lane's address: the result is one value or a vector of the operation type.
   */
  record Load() implements Access {}

  /** Writes memory at each lane's address. */
  record Store() implements Access {}

  /**
   * {@code ldmatrix}: lane {@code 8m + r} gives the shared address of row {@code r} (16 bytes) of
   * matrix {@code m}; each lane receives of every matrix the two 16-bit elements that the fragment
   * assigns it.
   */
  record LoadMatrix(Fragment fragment) implements Access {}

  /** {@code stmatrix}: the same the other way. */
  record StoreMatrix(Fragment fragment) implements Access {}

  /**
   * {@code wmma.load}: a warp reads a matrix into the registers that the layout of {@code wmma}
   * assigns.
   */
  record LoadTile() implements Access {}

  /** {@code wmma.store}: the same the other way. */
  record StoreTile() implements Access {}

  /** Copies from global to shared memory asynchronously. */
  record AsyncCopy() implements Asynchronous {}

  /** Makes one group of the copies that the thread issued since the last group. */
  record CommitGroup() implements Completion {}

  /**
   * Waits until at most as many of the thread's newest groups are unfinished as its operand says;
   * without an operand, until all its copies are done.
   */
  record WaitGroup() implements Completion {}

  /**
   * Atomically replaces the value at each lane's address by a function of it.
   *
   * @param returnsOld whether the result is the old value ({@code atom}), or there is none ({@code
   *     red})
   */
  record Atomic(AtomicFunction function, boolean returnsOld) implements Access {}

  /** The new value that an {@link Atomic} instruction writes. */
  @FunctionalInterface
  interface AtomicFunction {

    /**
     * The new value. Values are the bits of the operation type, zero-extended; of the answer the
     * low bits count.
     *
     * @param old the value in memory
     * @param c 0 where the instruction has no such operand
     * @param global whether the address is in global memory
     */
    long apply(long old, long b, long c, boolean global);
  }

  /** Orders the thread's accesses before it and those after it. */
  record Fence(FenceKind kind) implements Synchronization {}

  /** A kind of {@link Fence}. */
  enum FenceKind {
    /** Accesses of the thread and those of others ({@code fence}, {@code membar}). */
    MEMORY,
    /** Accesses by different virtual addresses of one location. */
    ALIAS,
    /** Accesses by the generic and the async proxy. */
    ASYNC_PROXY,
    /** Changes of tensor maps, and copies that use the maps. */
    TENSOR_MAP,
    /** Initializations of mbarriers. */
    MBARRIER_INIT
  }

  /** Gives the hardware a hint, which changes no value. */
  record NoEffect() implements Semantics {}

  /** Stops the kernel. */
  record Trap() implements Control {}

  /**
   * Threads of the block wait for one another; their accesses before are seen after.
   *
   * @param aligned whether all threads of a warp execute it together even without {@code .aligned}
   */
  record Barrier(BarrierKind kind, boolean aligned) implements Synchronization {}

  /** Returns the rank of the block whose shared memory an address is in. */
  record ClusterRank() implements Computation {}

  /** Arrives at the barrier of the cluster. */
  record ClusterArrive() implements Synchronization {}

  /** Waits until all threads of the cluster have arrived. */
  record ClusterWait() implements Synchronization {}

  /** An operation on a {@link Barrier}. */
  enum BarrierKind {
    /** Waits for the others. */
    SYNC,
    /** Arrives without waiting. */
    ARRIVE,
    /** Waits; the result is the number of threads whose predicate holds. */
    COUNT,
    /** Waits; the result is whether the predicate holds for all threads. */
    ALL,
    /** Waits; the result is whether the predicate holds for any thread. */
    ANY;

    /** Whether the threads combine a predicate. */
    public boolean reduces() {
      return this == COUNT || this == ALL || this == ANY;
    }
  }

  /** An operation on an mbarrier, which counts arrivals and bytes (PTX ISA 9.7.13.15). */
  record Mbarrier(MbarrierKind kind) implements Completion {}

  /** An operation on an {@link Mbarrier}. */
  enum MbarrierKind {
    INIT,
    INVAL,
    /** Announces bytes. */
    EXPECT,
    /** Reports bytes as transferred. */
    COMPLETE,
    ARRIVE,
    /** Arrives, and is not expected in later phases. */
    DROP,
    /** Tests whether a phase is complete. */
    TEST_WAIT,
    /** Tests whether a phase is complete, and may wait for it. */
    TRY_WAIT
  }

  /** Arrives at an {@link Mbarrier} when all copies that the thread issued are done. */
  record CopyArrive() implements Completion {}

  /** Copies or reduces contiguous bytes asynchronously. */
  record BulkCopy() implements Asynchronous {}

  /** Copies or reduces a tile of a tensor asynchronously. */
  record TensorCopy() implements Asynchronous {}

  /** Makes one group of the bulk copies that the thread issued since the last group. */
  record CommitBulk() implements Completion {}

  /**
   * Waits until at most as many of the thread's newest groups of bulk copies are unfinished as its
   * operand says, or with {@code .read} until they have read their sources.
   */
  record WaitBulk() implements Completion {}

  /**
   * Stores a value in shared memory of the cluster and signals an mbarrier there.
   *
   * @param reduces whether it combines the value with the old one ({@code red.async})
   */
  record StoreAsync(boolean reduces) implements Asynchronous {}

  /** Changes a field of a tensor map. */
  record ReplaceInTensorMap() implements TensorMapUpdate {}

  /** Copies a tensor map from shared to global memory. */
  record CopyTensorMap() implements TensorMapUpdate {}

  /** Multiplies matrices by four warps, asynchronously (PTX ISA 9.7.15.5). */
  record Wgmma() implements Asynchronous {}

  /** Makes one group of the products issued since the last group. */
  record WgmmaCommit() implements Completion {}

  /** Waits until at most as many of the newest groups are unfinished as its operand says. */
  record WgmmaWait() implements Completion {}

  /** Jumps to its label. */
  record Branch() implements Control {}

  /** Jumps to the label that the operand selects from a list of targets. */
  record IndexedBranch() implements Control {}

  /** Executes a function and returns; the inliner replaces it by the function's body. */
  record Call() implements Control {}

  /**
   * Executes a function of the device runtime. The operands are addresses of local variables: that
   * of its result, where it has one, and those of its arguments.
   */
  record RuntimeCall(RuntimeFunction function) implements Control {}

  /**
   * Ends the thread.
   *
   * @param returns whether in a function it returns to the caller instead ({@code ret})
   */
  record Exit(boolean returns) implements Control {}
}
