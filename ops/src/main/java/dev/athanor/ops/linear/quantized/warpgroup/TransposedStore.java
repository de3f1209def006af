package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.TileScheduler.Tile;
import java.util.ArrayList;
import java.util.List;

/**
 * Finishes the sums of a warpgroup, which are those of the transpose of c, and stores them to c.
 * Parts of {@value WeightTile#PART} rows of c of 128 bytes go through shared memory. The lanes of a
 * warp write eight columns, or pairs of columns, of four rows at once, which the swizzle spreads
 * over different banks.
 *
 * @param parts shared memory of the warpgroup
 * @param group index of the warpgroup among those that multiply
 * @param lane of the weights, which has the columns of the sums
 * @param c a tensor of columns and rows
 * @param out type of its elements: f32 or of 16 bits
 */
record TransposedStore(
    KernelBuilder k,
    SharedTile parts,
    Int group,
    StageWeights.Lane lane,
    TensorParameter c,
    Type out,
    Int m,
    Int n) {

  /** Rows of c of a fragment. */
  private static final int ROWS = 8;

  /**
   * Stores the sums of {@value WeightTile#OF_GROUP} columns of c.
   *
   * @param sums four registers for each 8 rows of c, as in {@code Fragments.C_16X8}
   * @param place whose row is the first column of c, and whose column the first row
   */
  <L> void store(List<MatrixFragment> sums, Tile place, EpilogueFunction<L> epilogue) {
    int across = SharedTile.ASYNC_ROW / out.bytes();
    // parts beside each other that have the warpgroup's columns
    int together = WeightTile.OF_GROUP / across;
    int fragments = WeightTile.PART / ROWS;
    int count = sums.size() / fragments * together;
    // one part is written while the previous one is copied, if the next tile begins with another
    int pending = together == 1 && count % WeightTile.PARTS == 0 ? 1 : 0;
    var thread = new LaneCoordinates(Fragments.D_64X8, k.thread().rem(WarpRole.GROUP));
    var column = lane.column();
    int adjacent = lane.apart() == 1 ? 2 : 1;
    var columns = new ArrayList<L>();
    for (int half = 0; half < 2; half++) {
      columns.add(epilogue.column(place.row().plus(column).plus(half * lane.apart()), n));
    }
    for (int first = 0; first < sums.size(); first += fragments) {
      int part = first / fragments * together % WeightTile.PARTS;
      var firstRow = place.column().plus(first * ROWS);
      var own = part(column.div(across).plus(part), across);
      k.when(isFirst(), () -> k.awaitBulkReads(pending));
      barrier();
      for (int i = 0; i < fragments; i++) {
        for (int j = 0; j < 2; j++) {
          var row = thread.column().plus(i * ROWS + j);
          var line = epilogue.row(firstRow.plus(row), m);
          for (int half = 0; half < 2; half += adjacent) {
            var values = new ArrayList<Value>();
            for (int of = half; of < half + adjacent; of++) {
              var sum = sums.get(first + i).get(2 * of + j);
              values.add(epilogue.finish(sum, line, columns.get(of)));
            }
            own.store(row, column.rem(across).plus(half * lane.apart()), values);
          }
        }
      }
      k.fenceAsyncProxy();
      barrier();
      k.when(
          isFirst(),
          () -> {
            for (int i = 0; i < together; i++) {
              c.store(
                  part(k.integer(part + i), across),
                  List.of(place.row().plus(i * across), firstRow));
            }
            k.commitBulkCopies();
          });
    }
  }

  private SharedTile part(Int index, int across) {
    return parts.at(index.times(WeightTile.PART_BYTES), out, WeightTile.PART, across);
  }

  /** Waits until copies have read the parts. */
  void finish() {
    k.when(isFirst(), () -> k.awaitBulkReads(0));
  }

  /** The thread that copies. */
  private Predicate isFirst() {
    return k.thread().rem(WarpRole.GROUP).eq(0);
  }

  private void barrier() {
    k.barrier(group.plus(1), WarpRole.GROUP);
  }
}
