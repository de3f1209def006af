package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.OpaqueMatrix;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The accumulators of a warp: for each 16 rows, fragments of 8 columns with registers as in {@code
 * Fragments.C_16X8}. Rows and columns may be {@link Stage#interleaved}.
 */
public final class WarpSums {

  private static final int COLUMNS = 8;

  /**
   * The distance between rows of an opaque sum in shared memory. The 16 lanes that read 8 columns
   * of four rows at once read all banks.
   */
  private static final int OPAQUE_PITCH = 24;

  /** Bytes of shared memory per warp for {@link #of}. */
  static final int OPAQUE_BYTES = OpaqueMatrix.SIZE * OPAQUE_PITCH * Float.BYTES;

  private final List<MatrixFragment> parts;
  private final int across;

  private WarpSums(List<MatrixFragment> parts, int across) {
    this.parts = parts;
    this.across = across;
  }

  /** Declares zeroed accumulators for the part of a tile that a warp computes. */
  WarpSums(KernelBuilder k, TensorTile tile, Mma mma) {
    across = tile.warpN() / COLUMNS;
    parts =
        Stream.generate(() -> k.accumulator(mma))
            .limit(tile.warpM() / Stage.GROUP * (long) across)
            .toList();
  }

  /**
   * Returns the sums of {@code wmma}, which shared memory reorders.
   *
   * @param shared shared memory of the block, of which each warp uses {@link #OPAQUE_BYTES}
   * @param sums the sums of 16x16 elements of the warp, in row-major order
   */
  static WarpSums of(
      KernelBuilder k, TensorTile tile, SharedTile shared, List<OpaqueMatrix.Sum> sums) {
    int size = OpaqueMatrix.SIZE;
    var own = shared.at(k.warp().times(OPAQUE_BYTES), Type.F32, size, size, OPAQUE_PITCH);
    var lane = new LaneCoordinates(Fragments.C_16X8.layout(), k.lane());
    var row = lane.row();
    var column = lane.column();
    var parts = new ArrayList<MatrixFragment>();
    for (var sum : sums) {
      own.store(k.integer(0), k.integer(0), sum);
      k.warpBarrier();
      for (int first = 0; first < size; first += COLUMNS) {
        var registers = new ArrayList<>(own.load(2, row, column.plus(first)));
        registers.addAll(own.load(2, row.plus(8), column.plus(first)));
        parts.add(new MatrixFragment(registers));
      }
      k.warpBarrier();
    }
    return new WarpSums(parts, tile.warpN() / COLUMNS);
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
   * @param scales of rows, of columns, or none
   */
  void add(WarpSums part, GroupScales.Loaded scales) {
    var rows = scales.rows().stream().map(Value::widen).toList();
    var columns = scales.columns().stream().map(Value::widen).toList();
    for (int i = 0; i < parts.size(); i++) {
      for (int register = 0; register < parts.get(i).size(); register++) {
        var sum = (Real.Variable) parts.get(i).get(register);
        var more = (Real) part.parts.get(i).get(register);
        if (!rows.isEmpty()) {
          sum.addProduct(more, rows.get(2 * (i / across) + register / 2));
        } else if (!columns.isEmpty()) {
          sum.addProduct(more, columns.get((2 * i + register % 2) % columns.size()));
        } else {
          sum.set(sum.plus(more));
        }
      }
    }
  }

  /**
   * Sums of parts of a stage, which start from zero and are then added to the sums of a warp. They
   * serve to apply the scales of groups, or to limit how many numbers tensor cores add to a sum.
   * Without parts, products are added to the sums of the warp directly.
   */
  static final class Parts {
    private final KernelBuilder k;
    private final TileProduct product;
    private final WarpSums sums;
    private final int depth;
    private final int extent;
    private final Function<Int, GroupScales.Loaded> scales;
    private WarpSums part;
    private GroupScales.Loaded scalesOfPart = GroupScales.Loaded.NONE;

    /**
     * Creates partial sums without a current part.
     *
     * @param sums sums of the warp
     * @param depth depth of a part: a divisor of a stage's depth, or 0 without parts
     * @param extent extent along K that shares scales: a multiple of the depth
     * @param scales loads the scales from an index along K on, if there are any
     */
    Parts(
        KernelBuilder k,
        TileProduct product,
        WarpSums sums,
        int depth,
        int extent,
        Function<Int, GroupScales.Loaded> scales) {
      this.k = k;
      this.product = product;
      this.sums = sums;
      this.depth = depth;
      this.extent = extent;
      this.scales = scales;
      part = sums;
    }

    /**
     * Returns the sums to which a step adds its products.
     *
     * @param stage first index along K of the stage
     * @param step first index along K of the step, within the stage
     */
    WarpSums begin(Int stage, int step) {
      if (depth > 0 && step % depth == 0) {
        part = new WarpSums(k, product.tile(), product.mma());
        if (step % extent == 0) {
          scalesOfPart = scales.apply(stage.plus(step));
        }
      }
      return part;
    }

    /** Adds the part to the sums of the warp if it ends with the step that ends at {@code step}. */
    void end(int step) {
      if (depth > 0 && step % depth == 0) {
        sums.add(part, scalesOfPart);
      }
    }
  }
}
