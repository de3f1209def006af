package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.ptx.check.Inliner;
import dev.athanor.engine.ptx.meaning.LaneFunctions;
import dev.athanor.engine.ptx.meaning.RegisterTile;
import java.util.List;

/**
 * The kinds of meaning an instruction can have, by the scope in which it executes. Whoever executes
 * kernels has one arm for each; a new instruction of a known kind needs none.
 */
public sealed interface Semantics {

  /**
   * Lane by lane and without memory: result {@code i} is the value of the lane function {@code
   * functions[i]} of {@link LaneFunctions}, whose overload the row's types select; {@code f>g}
   * passes the value of {@code f} and the sources that are left to {@code g}. A row may also read
   * and write the carry flag of the thread, as a last source and a last result that are not written
   * out.
   */
  record Pure(List<String> functions, boolean readsCarry, boolean writesCarry)
      implements Semantics {
    public Pure {
      functions = List.copyOf(functions);
    }

    public Pure(List<String> functions) {
      this(functions, false, false);
    }
  }

  /** All 32 lanes at once, from registers to registers. */
  record Warp(WarpFunction function) implements Semantics {}

  /**
   * From registers to registers, by those lanes of a warp that happen to execute it together; they
   * wait for no others.
   */
  record Converged(WarpFunction function) implements Semantics {}

  /**
   * The lanes that its mask names wait for one another; their accesses before are seen by them
   * after.
   */
  record WarpBarrier() implements Semantics {}

  /**
   * Reads memory at each lane's address: the result is one value or a vector of the operation type.
   */
  record Load() implements Semantics {}

  /** Writes memory at each lane's address. */
  record Store() implements Semantics {}

  /**
   * {@code ldmatrix}: lane {@code 8m + r} gives the shared address of row {@code r} (16 bytes) of
   * matrix {@code m}; each lane receives of every matrix the two 16-bit elements that the fragment
   * assigns it.
   */
  record LoadMatrix(Fragment fragment) implements Semantics {}

  /** {@code stmatrix}: the same the other way. */
  record StoreMatrix(Fragment fragment) implements Semantics {}

  /**
   * {@code wmma.load}: a warp reads a matrix into the registers that {@link RegisterTile#wmma}
   * describes.
   */
  record LoadTile() implements Semantics {}

  /** {@code wmma.store}: the same the other way. */
  record StoreTile() implements Semantics {}

  /** Copies from global to shared memory without registers, later than it is issued. */
  record AsyncCopy() implements Semantics {}

  /** Makes one group of the copies that the thread issued since the last group. */
  record CommitGroup() implements Semantics {}

  /**
   * Waits until at most as many of the thread's newest groups are unfinished as its operand says;
   * without an operand, until all its copies are done.
   */
  record WaitGroup() implements Semantics {}

  /**
   * Reads memory at each lane's address and writes what a function makes of it, with nobody
   * between; the result, where the row has one, is what was there before.
   */
  record Atomic(AtomicFunction function) implements Semantics {}

  /** What an {@link Atomic} instruction writes. */
  @FunctionalInterface
  interface AtomicFunction {

    /**
     * The new value. Values are the bits of the operation type, zero-extended; of the answer the
     * low bits count.
     *
     * @param old what is there
     * @param c 0 where the instruction has no such operand
     * @param global whether the address is in global memory
     */
    long apply(long old, long b, long c, boolean global);
  }

  /** Orders the thread's accesses before it and those after it. */
  record Fence() implements Semantics {}

  /** A hint to the hardware, which changes no value. */
  record NoEffect() implements Semantics {}

  /** Stops the kernel. */
  record Trap() implements Semantics {}

  /**
   * Threads of the block wait for one another; their accesses before are seen after.
   *
   * @param aligned whether all threads of a warp execute it together even without {@code .aligned}
   */
  record Barrier(BarrierKind kind, boolean aligned) implements Semantics {}

  /** Which block of the cluster has the shared memory that an address is in. */
  record ClusterRank() implements Semantics {}

  /** A thread says that it has come to the barrier of its cluster. */
  record ClusterArrive() implements Semantics {}

  /** Waits until all threads of the cluster have said so. */
  record ClusterWait() implements Semantics {}

  /** What a thread does at a {@link Barrier}. */
  enum BarrierKind {
    /** Waits for the others. */
    SYNC,
    /** Lets the others know, and goes on. */
    ARRIVE,
    /** Waits, and learns for how many a predicate holds. */
    COUNT,
    /** Waits, and learns whether a predicate holds for all. */
    ALL,
    /** Waits, and learns whether a predicate holds for any. */
    ANY;

    /** Whether the threads combine a predicate. */
    public boolean reduces() {
      return this == COUNT || this == ALL || this == ANY;
    }
  }

  /** Something done to a barrier that counts arrivals and bytes (PTX ISA 9.7.13.15). */
  record Mbarrier(MbarrierKind kind) implements Semantics {}

  /** What is done to an {@link Mbarrier}. */
  enum MbarrierKind {
    INIT,
    INVAL,
    /** Announces bytes. */
    EXPECT,
    /** Says that bytes have come. */
    COMPLETE,
    ARRIVE,
    /** Arrives, and is not expected in later phases. */
    DROP,
    /** Asks whether a phase is complete. */
    TEST_WAIT,
    /** Asks, and may wait a while for it. */
    TRY_WAIT
  }

  /** Arrives at an {@link Mbarrier} when all copies that the thread issued are done. */
  record CopyArrive() implements Semantics {}

  /** Copies or combines a row of bytes, later than it is issued. */
  record BulkCopy() implements Semantics {}

  /** Copies or combines a tile of a tensor, later than it is issued. */
  record TensorCopy() implements Semantics {}

  /** Makes one group of the bulk copies that the thread issued since the last group. */
  record CommitBulk() implements Semantics {}

  /**
   * Waits until at most as many of the thread's newest groups of bulk copies are unfinished as its
   * operand says, or with {@code .read} until they have read their sources.
   */
  record WaitBulk() implements Semantics {}

  /** Stores or combines a value in shared memory of the cluster, and tells a barrier there. */
  record StoreAsync() implements Semantics {}

  /** Changes a field of a tensor map. */
  record ReplaceInTensorMap() implements Semantics {}

  /** Copies a tensor map from shared to global memory. */
  record CopyTensorMap() implements Semantics {}

  /** A product of matrices by four warps, done later than it is issued (PTX ISA 9.7.15.5). */
  record Wgmma() implements Semantics {}

  /** Makes one group of the products issued since the last group. */
  record WgmmaCommit() implements Semantics {}

  /** Waits until at most as many of the newest groups are unfinished as its operand says. */
  record WgmmaWait() implements Semantics {}

  /** Goes on at its label. */
  record Branch() implements Semantics {}

  /** Goes on at the label whose number in its list of targets the operand is. */
  record IndexedBranch() implements Semantics {}

  /**
   * Executes a function and goes on behind; {@link Inliner} puts the function's body in its place.
   */
  record Call() implements Semantics {}

  /**
   * Executes a function of the device runtime. The operands are addresses of local variables: that
   * of its result, where it has one, and those of its arguments.
   */
  record RuntimeCall(RuntimeFunction function) implements Semantics {}

  /** Ends the thread. */
  record Exit() implements Semantics {}
}
