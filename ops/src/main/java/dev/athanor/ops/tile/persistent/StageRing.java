package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.Predicate;
import java.util.Optional;

/**
 * A ring of stages in shared memory between the warpgroup that copies and those that multiply. Each
 * stage has two mbarriers: one for the phases in which it is full, one for those in which it is
 * free. Both sides go through the stages in the same order, each at its own {@link Position}.
 */
public final class StageRing {
  private final KernelBuilder k;
  private final Cluster cluster;
  private final Mbarriers mbarriers;
  private final int stages;

  /**
   * Creates a ring. One thread must {@link #initialize} it.
   *
   * @param mbarriers two for each stage
   */
  public StageRing(KernelBuilder k, Cluster cluster, Mbarriers mbarriers, int stages) {
    this.k = k;
    this.cluster = cluster;
    this.mbarriers = mbarriers;
    this.stages = stages;
  }

  /**
   * Initializes the mbarriers: a producer in this block fills a stage, and readers in each block of
   * the cluster free it.
   */
  public void initialize(int readers) {
    for (int stage = 0; stage < stages; stage++) {
      mbarriers.initialize(stage, 1);
      mbarriers.initialize(stages + stage, readers * cluster.blocks());
    }
    cluster.publishMbarriers();
  }

  /** Returns the position of the producer, to whom all stages are free. */
  public Position ofProducer() {
    return new Position(1);
  }

  /** Returns the position of a reader. */
  public Position ofReader() {
    return new Position(0);
  }

  /** Returns the mbarriers, at whose first ones copies complete: one for each stage. */
  public Mbarriers mbarriers() {
    return mbarriers;
  }

  /** A stage, and the parity of the phase to wait for. */
  public final class Position {
    private final Int.Variable stage;
    private final Int.Variable parity;

    private Position(int parity) {
      stage = k.variable(k.integer(0));
      this.parity = k.variable(k.integer(parity));
    }

    /** Returns the index of the stage. */
    public Int stage() {
      return stage;
    }

    /** Waits until the stage has been freed everywhere, and expects the bytes that fill it. */
    public void awaitFree(int bytes) {
      mbarriers.await(stage.plus(stages), parity);
      mbarriers.arriveAndExpect(stage, bytes);
    }

    /** Waits until the stage is full. */
    public void awaitFull() {
      await(mbarriers);
    }

    /** Waits for the phase at other mbarriers, one for each stage, that complete as often. */
    public void await(Mbarriers others) {
      others.await(stage, parity);
    }

    /** Goes to the next stage. */
    public void advance() {
      var next = stage.plus(1);
      var wraps = next.eq(stages);
      parity.set(parity.xor(k.integer(1).where(wraps, k.integer(0))));
      stage.set(k.integer(0).where(wraps, next));
    }
  }

  /**
   * Frees a stage in all blocks whose copies fill it.
   *
   * @param thread index among the threads of a reader: a warpgroup or a warp
   * @param condition whether to free it at all
   */
  public void free(Int stage, Int thread, Optional<Predicate> condition) {
    var isRank = thread.lt(cluster.blocks());
    cluster.arriveWhere(
        condition.map(isRank::and).orElse(isRank), mbarriers, stage.plus(stages), thread);
  }
}
