package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * Step 4, vectors: a load moves 16 bytes, eight elements, instead of one element.
 *
 * <p>The sectors are the same, but an eighth of the requests and of the load instructions suffice.
 * From shared memory a thread reads eight elements of a along K at once and keeps them for eight
 * steps, and it reads four neighboring columns of b, as its own columns are now contiguous.
 */
record VectorLoads() implements LadderStep {

  /** Elements in 16 bytes. */
  static final int VECTOR = 8;

  /** Rows and columns of threads in a block. */
  static final int SIDE = 16;

  /** Rows and columns of c that a thread computes. */
  static final int EACH = TILE / SIDE;

  @Override
  public String name() {
    return "vector-loads";
  }

  @Override
  public String summary() {
    return "16 bytes per load, so that an eighth of the instructions moves the same sectors.";
  }

  @Override
  public int threads() {
    return SIDE * SIDE;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var tileOfA = k.shared(Type.F16, TILE, DEPTH, DEPTH);
    var tileOfB = k.shared(Type.F16, DEPTH, TILE, TILE);
    // a tile has as many vectors as the block has threads
    var rowOfA = k.thread().div(DEPTH / VECTOR);
    var columnOfA = k.thread().rem(DEPTH / VECTOR).times(VECTOR);
    var rowOfB = k.thread().div(TILE / VECTOR);
    var columnOfB = k.thread().rem(TILE / VECTOR).times(VECTOR);
    var sums = Matrices.sums(k, EACH * EACH);
    k.loop(
        k.integer(0),
        matrices.depth,
        DEPTH,
        depth -> {
          var fromA = matrices.a.row(matrices.row.plus(rowOfA), matrices.depth);
          var fromB = matrices.b.row(depth.plus(rowOfB), matrices.n);
          tileOfA.store(rowOfA, columnOfA, fromA.load(VECTOR, depth.plus(columnOfA)));
          tileOfB.store(rowOfB, columnOfB, fromB.load(VECTOR, matrices.column.plus(columnOfB)));
          k.barrier();
          multiply(k, tileOfA, tileOfB, sums);
          k.barrier();
        });
    store(k, matrices, sums);
  }

  /** Adds the product of the tiles to the thread's sums. */
  static void multiply(
      KernelBuilder k, SharedTile tileOfA, SharedTile tileOfB, List<Real.Variable> sums) {
    for (int depth = 0; depth < DEPTH; depth += VECTOR) {
      var a = new ArrayList<List<Real>>();
      for (int i = 0; i < EACH; i++) {
        a.add(
            tileOfA.load(VECTOR, row(k).plus(i * SIDE), k.integer(depth)).stream()
                .map(value -> value.widen())
                .toList());
      }
      for (int inVector = 0; inVector < VECTOR; inVector++) {
        var b =
            tileOfB.load(EACH, k.integer(depth + inVector), column(k)).stream()
                .map(value -> value.widen())
                .toList();
        for (int i = 0; i < sums.size(); i++) {
          sums.get(i).addProduct(a.get(i / EACH).get(inVector), b.get(i % EACH));
        }
      }
    }
  }

  static void store(KernelBuilder k, Matrices matrices, List<Real.Variable> sums) {
    var column = matrices.column.plus(column(k));
    for (int i = 0; i < EACH; i++) {
      var row = matrices.row.plus(row(k)).plus(i * SIDE);
      matrices.c.row(row, matrices.n).store(column, sums.subList(i * EACH, (i + 1) * EACH));
    }
  }

  /** Returns the first row of a thread in the tile; the others are {@link #SIDE} apart. */
  private static Int row(KernelBuilder k) {
    return k.thread().div(SIDE);
  }

  /** Returns the first column of a thread in the tile; the others follow it. */
  private static Int column(KernelBuilder k) {
    return k.thread().rem(SIDE).times(EACH);
  }
}
