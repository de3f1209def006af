package dev.athanor.ops.matmul;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * A product of f32 matrices, one multiply-add a lane. A block stages tiles of a and b in shared
 * memory, both with K as the row; a thread keeps its part of c in registers, in groups of {@link
 * #GROUP} rows and columns that lie apart so that the lanes of a warp read neighbouring groups.
 */
final class CoresMatmul {

  /** Elements of one vector access to shared memory. */
  private static final int GROUP = 4;

  private final KernelBuilder k;
  private final Tile tile;
  private final MatmulKernels.Parameters problem;
  private final MatmulVariant variant;

  CoresMatmul(KernelBuilder k, MatmulVariant variant, MatmulKernels.Parameters problem) {
    this.k = k;
    this.variant = variant;
    this.tile = variant.tile();
    this.problem = problem;
  }

  void write() {
    // a pitch that is one group longer spreads a column over the banks while it is stored
    var a = k.shared(Type.F32, tile.k(), tile.m(), tile.m() + GROUP);
    var b = k.shared(Type.F32, tile.k(), tile.n(), tile.n() + GROUP);
    int threadsAcross = tile.n() / tile.threadN();
    var threadRow = k.thread().div(threadsAcross);
    var threadColumn = k.thread().rem(threadsAcross);
    var sums = new ArrayList<List<Real.Variable>>();
    for (int i = 0; i < tile.threadM(); i++) {
      var row = new ArrayList<Real.Variable>();
      for (int j = 0; j < tile.threadN(); j++) {
        row.add(k.variable(k.real(Type.F32, 0)));
      }
      sums.add(row);
    }

    k.loop(
        k.integer(0),
        problem.depth,
        tile.k(),
        depth -> {
          stage(a, problem.a, problem.lda, variant.transposeA(), problem.row, problem.m, depth);
          stage(b, problem.b, problem.ldb, !variant.transposeB(), problem.column, problem.n, depth);
          k.barrier();
          for (int i = 0; i < tile.k(); i++) {
            var column = read(a, i, threadRow, tile.threadM());
            var row = read(b, i, threadColumn, tile.threadN());
            for (int y = 0; y < column.size(); y++) {
              for (int x = 0; x < row.size(); x++) {
                sums.get(y).get(x).addProduct(column.get(y), row.get(x));
              }
            }
          }
          k.barrier();
        });

    for (int x = 0; x < tile.threadN(); x++) {
      var column = problem.column.plus(offset(threadColumn, x, tile.n(), tile.threadN()));
      var bias = problem.bias(column);
      for (int y = 0; y < tile.threadM(); y++) {
        var row = problem.row.plus(offset(threadRow, y, tile.m(), tile.threadM()));
        var inside = row.lt(problem.m).and(column.lt(problem.n));
        var result = problem.finish(sums.get(y).get(x), bias);
        problem.c.row(row, problem.n).storeWhere(inside, column, result);
      }
    }
  }

  /**
   * Brings a stage to shared memory, zeros where the matrix ends.
   *
   * @param kIsRow whether rows of the stored matrix go along K, as in the tile; else they are
   *     turned
   * @param first the first row or column of c that the tile belongs to
   * @param limit how many there are
   */
  private void stage(
      SharedTile to, GlobalPointer from, Int ld, boolean kIsRow, Int first, Int limit, Int depth) {
    int across = kIsRow ? to.columns() : to.rows();
    int rowsAtOnce = tile.threads() / across;
    var fast = k.thread().rem(across);
    for (int slow = 0; slow < to.columns() * to.rows() / across; slow += rowsAtOnce) {
      var slowIndex = k.thread().div(across).plus(slow);
      var alongK = kIsRow ? slowIndex : fast;
      var alongC = kIsRow ? fast : slowIndex;
      var inC = first.plus(alongC);
      var inK = depth.plus(alongK);
      Predicate inside = inC.lt(limit).and(inK.lt(problem.depth));
      Value value =
          kIsRow
              ? from.row(inK, ld).loadWhere(inside, inC)
              : from.row(inC, ld).loadWhere(inside, inK);
      to.store(alongK, alongC, value);
    }
  }

  /** A thread's part of a row of a stage. */
  private List<Real> read(SharedTile stage, int row, Int thread, int count) {
    var values = new ArrayList<Real>();
    for (int i = 0; i < count; i += GROUP) {
      stage
          .load(GROUP, k.integer(row), offset(thread, i, stage.columns(), count))
          .forEach(v -> values.add(v.widen()));
    }
    return values;
  }

  /**
   * Where element {@code i} of a thread is in a tile: groups of neighbours, as far apart as all
   * threads' groups reach.
   */
  private static Int offset(Int thread, int i, int extent, int count) {
    return thread.times(GROUP).plus(i / GROUP * (extent / (count / GROUP)) + i % GROUP);
  }
}
