package dev.athanor.engine.author;

import dev.athanor.engine.ptx.SpecialRegister;

/**
 * The cluster of a block: blocks that access each other's shared memory (PTX ISA 3.1). A kernel
 * without clusters has one block in each.
 *
 * @param blocks of the cluster
 */
public record Cluster(KernelBuilder k, int blocks) {

  /** Returns the index of this cluster in the grid. */
  public Int index() {
    return k.read(blocks == 1 ? SpecialRegister.CTAID_X : SpecialRegister.CLUSTERID_X);
  }

  /** Returns the number of clusters in the grid. */
  public Int count() {
    return k.read(blocks == 1 ? SpecialRegister.NCTAID_X : SpecialRegister.NCLUSTERID_X);
  }

  /** Returns the rank of this block in its cluster. */
  public Int rank() {
    return blocks == 1 ? k.integer(0) : k.read(SpecialRegister.CLUSTER_CTARANK);
  }

  /** Returns a bit for each block. */
  public int all() {
    return (1 << blocks) - 1;
  }

  /**
   * Makes the mbarriers that this thread initialized visible to the other threads of the cluster,
   * after their {@link #awaitMbarriers}.
   */
  public void publishMbarriers() {
    k.emitter().emit("fence.mbarrier_init.release.cluster");
  }

  /** Waits for all threads of the cluster. Only mbarriers are visible afterwards. */
  public void awaitMbarriers() {
    barrier(".relaxed");
  }

  /**
   * Waits for all threads of the cluster; their earlier writes to memory are visible afterwards.
   */
  public void barrier() {
    barrier("");
  }

  private void barrier(String order) {
    if (blocks == 1) {
      k.barrier();
    } else {
      k.emitter().emit("barrier.cluster.arrive" + order);
      k.emitter().emit("barrier.cluster.wait");
    }
  }

  /**
   * Arrives at an mbarrier of a block of the cluster in threads where the condition holds.
   *
   * @param rank of the block
   */
  public void arriveWhere(Predicate condition, Mbarriers mbarriers, Int index, Int rank) {
    if (blocks == 1) {
      mbarriers.arriveWhere(condition, index);
    } else {
      mbarriers.arriveWhere(condition, index, rank);
    }
  }
}
