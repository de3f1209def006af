package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;

/**
 * Two stages of a and b in shared memory. While one is multiplied, the next is on its way through
 * registers to the other, so that a stage takes one barrier.
 */
final class DoubleBuffer {
  private final KernelBuilder k;
  private final OperandTile a;
  private final OperandTile b;
  private final SharedTile shared;

  /** The byte where the stage begins that is multiplied. */
  private final Int.Variable full;

  /** Brings the stage from {@code first} of K on. */
  DoubleBuffer(KernelBuilder k, SharedTile shared, OperandTile a, OperandTile b, Int first) {
    this.k = k;
    this.shared = shared;
    this.a = a;
    this.b = b;
    a.load(first).accept(a(k.integer(0)));
    b.load(first).accept(b(k.integer(0)));
    k.barrier();
    full = k.variable(k.integer(0));
  }

  /** Declares the shared memory of both stages. */
  static SharedTile shared(KernelBuilder k, OperandTile a, OperandTile b) {
    int stageBytes = a.bytes() + b.bytes();
    return k.shared(Type.B8, 2, stageBytes, stageBytes);
  }

  /** Returns the tile of a that is multiplied. */
  SharedTile a() {
    return a(full);
  }

  /** Returns the tile of b that is multiplied. */
  SharedTile b() {
    return b(full);
  }

  private SharedTile a(Int stage) {
    return a.at(shared, stage);
  }

  private SharedTile b(Int stage) {
    return b.at(shared, stage.plus(a.bytes()));
  }

  /**
   * Starts to load the next stage.
   *
   * @param first the first of K in it
   * @return writes the stage to shared memory, after which it is the one that is multiplied
   */
  Runnable load(Int first) {
    var nextA = a.load(first);
    var nextB = b.load(first);
    return () -> {
      var free = full.xor(k.integer(a.bytes() + b.bytes()));
      nextA.accept(a(free));
      nextB.accept(b(free));
      k.barrier();
      full.set(free);
    };
  }
}
