package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.ops.linear.ProductParameters;
import java.util.ArrayList;
import java.util.List;

/**
 * Sums by one multiply-add a lane. A warp is 4 threads high and 8 wide; a thread's rows and columns
 * are groups of neighbours, as far apart as the groups of its warp reach, so that the lanes read
 * neighbouring groups.
 */
final class LaneProducts extends CoresPart {

  private static final int HEIGHT = 4;
  private static final int WIDTH = 8;

  /** Elements of a group, which is one access to shared memory. */
  private final int group;

  /** Where the thread's first row and column are in the tile. */
  private final Int row;

  private final Int column;
  private final List<List<Real.Variable>> sums = new ArrayList<>();

  LaneProducts(KernelBuilder k, CoresVariant variant, ProductParameters problem) {
    super(k, variant, problem);
    group = CoresMatmul.VECTOR_BYTES / variant.product().dtype().bytes();
    int across = tile.n() / (WIDTH * tile.partN());
    row = first(k.warp().div(across), k.lane().div(WIDTH), HEIGHT * tile.partM());
    column = first(k.warp().rem(across), k.lane().rem(WIDTH), WIDTH * tile.partN());
    for (int y = 0; y < tile.partM(); y++) {
      sums.add(zeros(tile.partN()));
    }
  }

  private Int first(Int warp, Int lane, int extent) {
    return warp.times(extent).plus(lane.times(group));
  }

  /** Where the group of a thread's element {@code i} is. */
  private Int group(Int first, int lanes, int i) {
    return first.plus(i / group * (lanes * group));
  }

  @Override
  void multiply(SharedTile a, SharedTile b) {
    for (int i = 0; i < tile.k(); i++) {
      var down = read(a, i, row, HEIGHT, tile.partM());
      var across = read(b, i, column, WIDTH, tile.partN());
      for (int y = 0; y < down.size(); y++) {
        for (int x = 0; x < across.size(); x++) {
          sums.get(y).get(x).addProduct(down.get(y), across.get(x));
        }
      }
    }
  }

  private List<Real> read(SharedTile stage, int depth, Int first, int lanes, int count) {
    var values = new ArrayList<Real>();
    for (int i = 0; i < count; i += group) {
      stage
          .load(group, k.integer(depth), group(first, lanes, i))
          .forEach(value -> values.add(value.widen()));
    }
    return values;
  }

  @Override
  void store() {
    for (int x = 0; x < tile.partN(); x += group) {
      var inColumn = group(column, WIDTH, x);
      var columns = columns(inColumn, group);
      for (int y = 0; y < tile.partM(); y++) {
        store(
            group(row, HEIGHT, y).plus(y % group),
            inColumn,
            sums.get(y).subList(x, x + group),
            columns);
      }
    }
  }
}
