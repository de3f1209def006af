package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;

/**
 * The stages of steps that prefetch, each with a tile of a, 64x32, and a tile of b, 32x64.
 *
 * @param swizzled whether the 16-byte chunks of a row are permuted, which avoids bank conflicts of
 *     ldmatrix
 */
record Stages(
    KernelBuilder k, Matrices matrices, int threads, SharedTile memory, boolean swizzled) {

  private static final int TILE_BYTES = LadderStep.TILE * LadderStep.DEPTH * 2;

  /** Bytes of a stage. */
  static final int BYTES = 2 * TILE_BYTES;

  /** Returns the tile of a in the stage that starts at a byte. */
  SharedTile a(Int stage) {
    return tile(stage, LadderStep.TILE, LadderStep.DEPTH);
  }

  /** Returns the tile of b in the stage that starts at a byte. */
  SharedTile b(Int stage) {
    return tile(stage.plus(TILE_BYTES), LadderStep.DEPTH, LadderStep.TILE);
  }

  private SharedTile tile(Int at, int rows, int columns) {
    return swizzled
        ? memory.at(at, Type.F16, rows, columns)
        : memory.at(at, Type.F16, rows, columns, columns);
  }

  /** Starts the copies of a stage, unless it is beyond K, and commits them as a group. */
  void copy(Int stage, Int depth) {
    k.when(
        depth.lt(matrices.depth),
        () -> {
          copy(a(stage), matrices.a, matrices.row, depth, matrices.depth);
          copy(b(stage), matrices.b, depth, matrices.column, matrices.n);
        });
    k.commitCopies();
  }

  private void copy(SharedTile to, GlobalPointer from, Int row, Int column, Int ld) {
    int across = to.columns() / VectorLoads.VECTOR;
    for (int done = 0; done < to.rows() * across; done += threads) {
      var toRow = k.thread().div(across).plus(done / across);
      var toColumn = k.thread().rem(across).times(VectorLoads.VECTOR);
      var source = from.row(row.plus(toRow), ld);
      to.copyAsync(toRow, toColumn, 16, source, column.plus(toColumn), k.integer(16));
    }
  }
}
