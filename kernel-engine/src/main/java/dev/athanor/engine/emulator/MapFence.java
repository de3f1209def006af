package dev.athanor.engine.emulator;

/**
 * A fence of a thread for one tensor map.
 *
 * @param time of the thread's warp
 * @param known what the thread knew: the changes that the fence covers
 */
record MapFence(int time, Knowledge known) {

  /** Whether a write came before it. */
  boolean covers(long mark, int cluster) {
    return known.covers(cluster, Mark.warp(mark), Mark.lane(mark), Mark.time(mark));
  }
}
