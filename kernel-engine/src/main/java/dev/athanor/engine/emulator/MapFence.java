package dev.athanor.engine.emulator;

/**
 * A fence of a thread for one tensor map.
 *
 * @param cluster of the thread, and its warp there
 * @param time of the warp
 * @param known what the thread knew: the changes that the fence covers
 */
record MapFence(int cluster, int warp, int time, Knowledge known) {

  /** Whether a change came before it. */
  boolean covers(MapChange change) {
    long mark = change.mark();
    boolean own =
        change.together()
            && change.cluster() == cluster
            && Mark.warp(mark) == warp
            && Mark.time(mark) <= time;
    return own || known.covers(change.cluster(), Mark.warp(mark), Mark.lane(mark), Mark.time(mark));
  }
}
