package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;

/**
 * Two stages of a and b in shared memory. While one is multiplied, the next is loaded through
 * registers into the other, so that a stage needs one barrier.
 */
final class DoubleBuffer {
  private final KernelBuilder k;
  private final OperandTile a;
  private final OperandTile b;
  private final SharedTile shared;

  /** The offset of the stage being multiplied, in bytes. */
  private final Int.Variable full;

  /** Loads the first stage, which starts at {@code first} along K. */
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

  /** Returns the tile of a in the current stage. */
  SharedTile a() {
    return a(full);
  }

  /** Returns the tile of b in the current stage. */
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
   * Starts loading the next stage.
   *
   * @param first its start along K
   * @return a task that writes the stage to shared memory and makes it the current one
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
