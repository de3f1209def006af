package dev.athanor.engine.emulator.sanitizer;

/**
 * A fence of a thread for one tensor map.
 *
 * @param cluster of the thread, and its warp there
 * @param time of the warp
 * @param known what the thread knew: the changes that the fence covers
 */
record TensorMapFence(int cluster, int warp, int time, SparseVectorClock known) {

  /** Whether a change came before it. */
  boolean covers(TensorMapChange change) {
    long mark = change.mark();
    boolean own =
        change.together()
            && change.cluster() == cluster
            && AccessStamp.warp(mark) == warp
            && AccessStamp.time(mark) <= time;
    return own
        || known.covers(
            change.cluster(),
            AccessStamp.warp(mark),
            AccessStamp.lane(mark),
            AccessStamp.time(mark));
  }
}
