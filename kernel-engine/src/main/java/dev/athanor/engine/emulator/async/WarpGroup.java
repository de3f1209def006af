package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A warpgroup of four warps, and its pending {@code wgmma} products, which execute in order (PTX
 * ISA 9.7.15).
 */
public final class WarpGroup {

  public static final int WARPS = LaunchGeometry.WARPGROUP;
  static final int ALL = (1 << WARPS) - 1;
  static final int THREADS = Warps.SIZE * WARPS;

  /**
   * The values that pending products read and write in a register, whose lanes are poisoned until
   * the products complete.
   */
  private static final class PendingValues {
    final int[] words = new int[THREADS];
    final int[] writers = new int[WARPS];
  }

  private final PendingOperations operations;
  private final int first;
  private final List<WgmmaSteps.Product> products = new ArrayList<>();
  private final IdentityHashMap<Object, PendingValues> pending = new IdentityHashMap<>();
  private final int[] issued = new int[WARPS];
  private final int[] committed = new int[WARPS];

  /** The number of the first product in the list. */
  private int base;

  /**
   * @param first the first warp of the group
   */
  WarpGroup(PendingOperations operations, int first) {
    this.operations = operations;
    this.first = first;
  }

  /** Discards the products of the previous block. */
  public void clear() {
    products.clear();
    pending.values().forEach(register -> Arrays.fill(register.writers, 0));
    Arrays.fill(issued, 0);
    Arrays.fill(committed, 0);
    base = 0;
  }

  int first() {
    return first;
  }

  /** Returns the number of wgmma-groups that a warp has committed. */
  int committed(int warp) {
    return committed[warp - first];
  }

  void commit(int warp) {
    committed[warp - first]++;
  }

  /** Makes a warp take part in its next product, which is issued once all four warps do. */
  void join(int warp, WgmmaSteps.Multiply step) {
    int at = issued[warp - first]++ - base;
    if (at == products.size()) {
      products.add(new WgmmaSteps.Product(this, step, committed(warp)));
    }
    var product = products.get(at);
    product.join(warp, step);
    if (product.isComplete()) {
      operations.issue(product);
    }
  }

  /** Returns a warp's pending products, except for those of its newest groups. */
  Deque<PendingOperation> before(int warp, int but) {
    var all = new ArrayDeque<PendingOperation>();
    for (var product : products) {
      if (!product.isDone() && product.group() < committed(warp) - but) {
        all.add(product);
      }
    }
    return all;
  }

  /**
   * Returns the first of a warp's products that other warps have not issued, except for those of
   * its newest groups; null if there is none.
   */
  WgmmaSteps.@Nullable Product incomplete(int warp, int but) {
    for (var product : products) {
      if (!product.isComplete() && product.group() < committed(warp) - but) {
        return product;
      }
    }
    return null;
  }

  /** Performs the products before another. */
  void finishBefore(WgmmaSteps.Product product) {
    for (var earlier : List.copyOf(products)) {
      if (earlier == product) {
        return;
      }
      if (!earlier.isDone()) {
        operations.finish(earlier);
      }
    }
  }

  /** Removes completed products. */
  void trim() {
    while (!products.isEmpty() && products.getFirst().isDone()) {
      products.removeFirst();
      base++;
    }
  }

  /**
   * Registers a pending product that writes a register of a warp; the current value is for the
   * product only.
   */
  void beginWrite(int warp, Lanes register) {
    var values = pending.computeIfAbsent(register.array(), _ -> new PendingValues());
    if (values.writers[warp - first]++ > 0) {
      return;
    }
    for (int lane = 0; lane < Warps.SIZE; lane++) {
      int at = Warps.thread(warp, lane);
      values.words[at - Warps.SIZE * first] = (int) register.bits(at);
      register.set(at, Registers.POISON);
    }
  }

  /** Returns the pending values of a register, by thread of the group. */
  int[] words(Lanes register) {
    var values = pending.get(register.array());
    if (values == null) {
      throw new IllegalStateException("no product writes the register");
    }
    return values.words;
  }

  /**
   * Records that a product has written a register; the last one makes the values visible to the
   * threads.
   */
  void endWrite(Lanes register) {
    var values = pending.get(register.array());
    if (values == null) {
      throw new IllegalStateException("no product writes the register");
    }
    for (int i = 0; i < WARPS; i++) {
      if (--values.writers[i] == 0) {
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          register.set(Warps.thread(first + i, lane), values.words[Warps.SIZE * i + lane]);
        }
      }
    }
  }
}
