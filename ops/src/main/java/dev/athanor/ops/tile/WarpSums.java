package dev.athanor.ops.tile;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import java.util.List;
import java.util.stream.Stream;

/**
 * The accumulators of a warp: for each 16 rows, fragments of 8 columns with registers as in {@code
 * Fragments.C_16X8}. Rows and columns may be {@link Stage#interleaved}.
 */
public final class WarpSums {

  private static final int COLUMNS = 8;

  private final List<MatrixFragment> parts;
  private final int across;

  /** Declares zeroed accumulators for the part of a tile that a warp computes. */
  WarpSums(KernelBuilder k, TensorTile tile, Mma mma) {
    across = tile.warpN() / COLUMNS;
    parts =
        Stream.generate(() -> k.accumulator(mma))
            .limit(tile.warpM() / Stage.GROUP * (long) across)
            .toList();
  }

  /** Returns the fragments of 8 columns each, in row-major order. */
  List<MatrixFragment> parts() {
    return parts;
  }

  /** Returns the number of fragments per 16 rows. */
  int across() {
    return across;
  }

  /** Returns a fragment by the indices of its 16 rows and 8 columns. */
  MatrixFragment get(int row, int column) {
    return parts.get(row * across + column);
  }

  /** Returns the fragments of the 16 rows starting at {@code row}. */
  List<MatrixFragment> slab(int row) {
    int first = row / Stage.GROUP * across;
    return parts.subList(first, first + across);
  }

  /**
   * Adds the sums of a part of K.
   *
   * @param scales two per eight columns, or none
   */
  void add(WarpSums part, List<Value> scales) {
    var wide = scales.stream().map(Value::widen).toList();
    for (int i = 0; i < parts.size(); i++) {
      for (int register = 0; register < parts.get(i).size(); register++) {
        var sum = (Real.Variable) parts.get(i).get(register);
        var more = (Real) part.parts.get(i).get(register);
        if (wide.isEmpty()) {
          sum.set(sum.plus(more));
        } else {
          sum.addProduct(more, wide.get((2 * i + register % 2) % wide.size()));
        }
      }
    }
  }
}
