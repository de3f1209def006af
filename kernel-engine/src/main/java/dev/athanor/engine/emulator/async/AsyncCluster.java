package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.step.Block;
import java.util.ArrayList;
import java.util.List;

/**
 * The asynchronous operations of a cluster: those that are pending, and the state of each block.
 */
public final class AsyncCluster {

  private final PendingOperations pending;
  private final List<AsyncState> blocks = new ArrayList<>();

  public AsyncCluster(PendingOperations pending) {
    this.pending = pending;
  }

  /** Adds the block of the next rank. */
  public AsyncState add(Block block) {
    var state = new AsyncState(block, this);
    blocks.add(state);
    return state;
  }

  public PendingOperations pending() {
    return pending;
  }

  AsyncState block(int rank) {
    return blocks.get(rank);
  }
}
