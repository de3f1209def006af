package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.RegisterTile.Layout;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.ops.linear.ProductParameters;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Products with FMA instructions. A warp is 4 threads high and 8 wide. A thread's rows and columns
 * form groups of adjacent elements, strided by the groups of the whole warp, so that the lanes read
 * adjacent groups.
 */
final class LaneProducts extends SimtPart {

  private static final int HEIGHT = 4;
  private static final int WIDTH = 8;

  private static final int VECTOR_BYTES = 16;

  /** Elements per group, which is one access to shared memory. */
  private final int group;

  private final RegisterTile sums;

  LaneProducts(KernelBuilder k, SimtVariant variant, ProductParameters problem) {
    super(k, variant, problem);
    group = VECTOR_BYTES / variant.product().sumType().bytes();
    int across = tile.n() / (WIDTH * tile.partN());
    var lanes = LinearLayout.of(Axis.LANE, Axis.COLUMN, WIDTH).times(Axis.LANE, Axis.ROW, HEIGHT);
    var lane = new LaneCoordinates(lanes, k.lane());
    var row = first(k.warp().div(across), lane.row(), HEIGHT * tile.partM());
    var column = first(k.warp().rem(across), lane.column(), WIDTH * tile.partN());
    sums =
        new RegisterTile(
            k,
            variant.product().sumType(),
            new Layout(
                row,
                distances(HEIGHT, tile.partM()),
                column,
                distances(WIDTH, tile.partN()),
                WIDTH));
  }

  private Int first(Int warp, Int lane, int extent) {
    return warp.times(extent).plus(lane.times(group));
  }

  /** Returns the distances of a thread's rows or columns from the first. */
  private List<Integer> distances(int lanes, int count) {
    return IntStream.range(0, count)
        .map(i -> i / group * (lanes * group) + i % group)
        .boxed()
        .toList();
  }

  @Override
  void addOuterProducts(SharedTile a, SharedTile b) {
    var rows = a.from(k.integer(0), sums.row(0));
    var columns = b.from(k.integer(0), sums.column(0));
    for (int i = 0; i < tile.k(); i++) {
      sums.addOuterProduct(
          read(rows, i, distances(HEIGHT, tile.partM())),
          read(columns, i, distances(WIDTH, tile.partN())));
    }
  }

  /**
   * Reads a thread's rows or columns of c at a depth of a stage, group by group.
   *
   * @param distances from the first, which begins the stage
   */
  private List<Real> read(SharedTile stage, int depth, List<Integer> distances) {
    var values = new ArrayList<Real>();
    for (int i = 0; i < distances.size(); i += group) {
      stage
          .load(group, k.integer(depth), k.integer(distances.get(i)))
          .forEach(value -> values.add(value.widen()));
    }
    return values;
  }

  @Override
  void store() {
    for (int x = 0; x < sums.columns(); x += group) {
      var columns = columns(sums.column(x), group);
      for (int y = 0; y < sums.rows(); y++) {
        store(sums.row(y), sums.column(x), sums.get(y, x, group), columns);
      }
    }
  }
}
