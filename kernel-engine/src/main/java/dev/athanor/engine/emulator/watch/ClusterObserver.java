package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.emulator.memory.Memory;

/**
 * Observes the clusters that one worker executes, one after the other. Only that worker calls it,
 * so it needs no locks.
 */
public interface ClusterObserver {

  /**
   * Announces the shared memory of the blocks of a rank, which every cluster reuses. Called once
   * for each rank, before the first cluster begins.
   */
  void ownsShared(int rank, Memory shared);

  /** Returns the observer of the blocks of a rank, always the same one. */
  Observer observer(int rank);

  /** Returns the observer of their asynchronous operations, always the same one. */
  AsyncObserver asyncObserver(int rank);
}
