package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.Memory;

/**
 * Observes the asynchronous operations of the blocks of one rank: mbarriers, bulk copies, tensor
 * copies and warpgroup products. The steps call it while they execute the instruction that {@link
 * Observer#execute} announced last. Threads and warps are numbered in their block.
 */
public interface AsyncObserver {

  /** An issued operation that signals an mbarrier when it is done. */
  @FunctionalInterface
  interface Signal {
    /** The operation is done. Called before the mbarrier counts it. */
    void done();
  }

  /** A product of a warpgroup. */
  @FunctionalInterface
  interface Product {
    /**
     * A warp joins the product.
     *
     * @param factors the shared memory that the product reads
     * @param group of the warp that the product belongs to, from 0
     */
    void join(int warp, ByteRanges factors, int group);
  }

  /** A thread has made an mbarrier in shared memory. */
  void made(ObservedMbarrier barrier, int thread, Memory shared, long offset);

  /** A thread announces bytes, or completes them itself. */
  void counts(ObservedMbarrier barrier, int thread);

  /** A thread is about to arrive. */
  void arrives(ObservedMbarrier barrier, int thread);

  /** Lanes of a warp have found a phase complete. */
  void observes(ObservedMbarrier barrier, int warp, int lanes);

  /** A thread has asked for a phase that is not complete. */
  void misses(ObservedMbarrier barrier, int thread);

  /** A thread is about to invalidate an mbarrier. */
  void invalidates(ObservedMbarrier barrier, int thread);

  /**
   * A phase of an mbarrier is complete.
   *
   * @param phases complete so far
   */
  void completes(ObservedMbarrier barrier, long phases);

  /** An mbarrier is to be signaled when the {@code cp.async} that a thread has issued are done. */
  Signal copiesArrive(ObservedMbarrier barrier, int thread);

  /** A thread issues a transfer that signals an mbarrier. */
  Signal issues(
      int thread, ByteRanges source, ByteRanges target, int bytes, ObservedMbarrier barrier);

  /**
   * A thread issues a transfer that belongs to a bulk group.
   *
   * @param group of the thread, from 0
   */
  void issues(int thread, ByteRanges source, ByteRanges target, int bytes, int group);

  /**
   * A thread has waited for its bulk groups.
   *
   * @param until how many are complete
   * @param read whether only their sources have been read
   */
  void awaits(int thread, int until, boolean read);

  /**
   * A thread has changed a tensor map.
   *
   * @param collective whether all lanes of its warp have changed it together
   */
  void changesMap(int thread, Memory memory, long offset, boolean collective);

  /** A thread executes {@code fence.proxy.tensormap::generic.acquire} for a map. */
  void fencesMap(int thread, Allocation buffer, long offset);

  /** A thread issues a copy that uses a tensor map in global memory. */
  void usesMap(int thread, Allocation buffer, long offset);

  /** The first warp of a warpgroup issues a product, which {@link Product#join} follows. */
  Product product(int warp);

  /**
   * A thread issues a product in tensor memory.
   *
   * @param factors the memory that the product reads
   * @param sums the tensor memory that it writes
   * @param adds whether it reads that too
   */
  void multiplies(int thread, ByteRanges factors, ByteRanges sums, boolean adds);

  /** An mbarrier is to be signaled when the products that a thread has issued are done. */
  Signal productsArrive(ObservedMbarrier barrier, int thread);

  /**
   * A warp has waited for its groups of products.
   *
   * @param until how many are complete
   */
  void awaitsProducts(int warp, int until);
}
