package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;

/**
 * The stages of steps that copy ahead: in each a tile of a, 64x32, and one of b, 32x64.
 *
 * @param swizzled whether the chunks of 16 bytes of a row change places, as ldmatrix likes it
 */
record Stages(
    KernelBuilder k, Matrices matrices, int threads, SharedTile memory, boolean swizzled) {

  private static final int TILE_BYTES = LadderStep.TILE * LadderStep.DEPTH * 2;

  /** The bytes of a stage. */
  static final int BYTES = 2 * TILE_BYTES;

  /** The tile of a of the stage that begins at a byte. */
  SharedTile a(Int stage) {
    return tile(stage, LadderStep.TILE, LadderStep.DEPTH);
  }

  /** The tile of b of the stage that begins at a byte. */
  SharedTile b(Int stage) {
    return tile(stage.plus(TILE_BYTES), LadderStep.DEPTH, LadderStep.TILE);
  }

  private SharedTile tile(Int at, int rows, int columns) {
    return swizzled
        ? memory.at(at, Type.F16, rows, columns)
        : memory.at(at, Type.F16, rows, columns, columns);
  }

  /** Starts the copies of a stage, unless it is beyond K, and makes a group of them. */
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
