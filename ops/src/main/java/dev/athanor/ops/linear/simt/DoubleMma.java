package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.ops.linear.ProductParameters;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Products of f64 on tensor cores: an instruction multiplies 8x4 of a and 4x8 of b. A lane has
 * element (lane / 4, lane % 4) of a and (lane % 4, lane / 4) of b; see {@code Fragments}. In both
 * stages this is element lane % 4 along K and lane / 4 along c. Consecutive rows of a stage are
 * offset by 4 elements in the banks, so the elements of half a warp, which is served at once, are
 * in 16 different banks.
 */
final class DoubleMma extends SimtPart {

  private static final Mma SHAPE = Mma.F64;

  private final LaneCoordinates sum;

  /** The first row and column of the warp. */
  private final Int row;

  private final Int column;

  /** The accumulators of each 8x8 part of c: two adjacent elements of row lane / 4. */
  private final List<MatrixFragment> sums;

  DoubleMma(KernelBuilder k, SimtVariant variant, ProductParameters problem) {
    super(k, variant, problem);
    int across = tile.n() / tile.partN();
    sum = new LaneCoordinates(Fragments.c(SHAPE.m()).layout(), k.lane());
    row = k.warp().div(across).times(tile.partM());
    column = k.warp().rem(across).times(tile.partN());
    sums = Stream.generate(() -> k.accumulator(SHAPE)).limit((long) down() * across()).toList();
  }

  private int down() {
    return tile.partM() / SHAPE.m();
  }

  private int across() {
    return tile.partN() / SHAPE.n();
  }

  @Override
  void addOuterProducts(SharedTile a, SharedTile b) {
    var left =
        new LaneCoordinates(Fragments.a(SHAPE.m(), SHAPE.k(), Double.SIZE).layout(), k.lane());
    var right = new LaneCoordinates(Fragments.b(SHAPE.k(), Double.SIZE).layout(), k.lane());
    for (int depth = 0; depth < tile.k(); depth += SHAPE.k()) {
      var rows = new ArrayList<MatrixFragment>();
      for (int i = 0; i < down(); i++) {
        rows.add(
            MatrixFragment.of(
                a.load(left.column().plus(depth), left.row().plus(row).plus(i * SHAPE.m()))));
      }
      var columns = new ArrayList<MatrixFragment>();
      for (int i = 0; i < across(); i++) {
        var inTile = column.plus(right.column()).plus(i * SHAPE.n());
        columns.add(MatrixFragment.of(b.load(right.row().plus(depth), inTile)));
      }
      for (int i = 0; i < sums.size(); i++) {
        k.mma(SHAPE, rows.get(i / across()), columns.get(i % across()), sums.get(i));
      }
    }
  }

  @Override
  void store() {
    for (int x = 0; x < across(); x++) {
      var inColumn = column.plus(sum.column()).plus(x * SHAPE.n());
      var columns = columns(inColumn, SHAPE.registersSum());
      for (int y = 0; y < down(); y++) {
        var ofLane = sums.get(y * across() + x).registers();
        store(row.plus(sum.row()).plus(y * SHAPE.m()), inColumn, ofLane, columns);
      }
    }
  }
}
