package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.watch.ClusterObserver;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a cluster, which access each other's shared memory (PTX ISA 2.2.2). A block that is
 * launched without a cluster is alone in one.
 */
public final class Cluster {

  private final Dim3 shape;
  private final List<Block> blocks = new ArrayList<>();
  private final ClusterBarrier barrier = new ClusterBarrier(this);
  private final @Nullable ClusterObserver observer;

  /**
   * Creates a cluster without blocks.
   *
   * @param shape the shape of the cluster in blocks
   * @param observer the observer of the blocks; null = none
   */
  public Cluster(Dim3 shape, @Nullable ClusterObserver observer) {
    this.shape = shape;
    this.observer = observer;
  }

  /** Adds the block of the next rank. */
  void add(Block block) {
    blocks.add(block);
  }

  public int size() {
    return (int) shape.count();
  }

  Dim3 shape() {
    return shape;
  }

  public Block block(int rank) {
    return blocks.get(rank);
  }

  /** Returns the block that owns a shared memory; null if none does. */
  public @Nullable Block owner(Memory memory) {
    for (var block : blocks) {
      if (block.sharedMemory == memory) {
        return block;
      }
    }
    return null;
  }

  public ClusterBarrier barrier() {
    return barrier;
  }

  /** Returns the observer of the blocks; null if there is none. */
  public @Nullable ClusterObserver observer() {
    return observer;
  }
}
