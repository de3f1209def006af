package dev.athanor.ops.matmul;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/**
 * A product of f16 or bf16 matrices on tensor cores with f32 sums. Stages of a and b lie in a ring
 * in shared memory, as they lie in global memory, and are filled by asynchronous copies while
 * earlier ones are multiplied; {@code ldmatrix} turns them into fragments as it reads. The stages
 * are swizzled, so that the eight rows of a matrix lie in different banks.
 */
final class TensorMatmul {

  private static final int ELEMENTS_AT_ONCE = 4;
  private static final int MMA_M = 16;
  private static final int MMA_N = 8;
  private static final int MMA_K = 16;

  private final KernelBuilder k;
  private final MatmulVariant variant;
  private final Tile tile;
  private final MatmulKernels.Parameters problem;
  private final Type type;
  private final Mma shape;
  private final SharedTile ring;
  private final Int lane;
  private final Int warpRow;
  private final Int warpColumn;

  TensorMatmul(KernelBuilder k, MatmulVariant variant, MatmulKernels.Parameters problem) {
    this.k = k;
    this.variant = variant;
    this.tile = variant.tile();
    this.problem = problem;
    this.type = MatmulVariant.type(variant.dtype());
    this.shape = type == Type.F16 ? Mma.F16 : Mma.BF16;
    this.ring = k.dynamicShared();
    this.lane = k.thread().rem(32);
    int warpsAcross = tile.n() / tile.threadN();
    var warp = k.thread().div(32);
    this.warpRow = warp.div(warpsAcross).times(tile.threadM());
    this.warpColumn = warp.rem(warpsAcross).times(tile.threadN());
  }

  /** The bytes of the ring. */
  static int sharedBytes(Tile tile) {
    return tile.stages() * (bytes(tile.m(), tile.k()) + bytes(tile.n(), tile.k()));
  }

  /** The bytes of a stage of {@code extent} rows or columns of c. */
  private static int bytes(int extent, int depth) {
    return extent * depth * 2;
  }

  void write() {
    int stageBytes = sharedBytes(tile) / tile.stages();
    var sums = new ArrayList<List<Real.Variable>>();
    for (int i = 0; i < tile.threadM() / MMA_M * (tile.threadN() / MMA_N); i++) {
      var sum = new ArrayList<Real.Variable>();
      for (int element = 0; element < 4; element++) {
        sum.add(k.variable(k.real(Type.F32, 0)));
      }
      sums.add(sum);
    }

    int ahead = tile.stages() - 1;
    for (int stage = 0; stage < ahead; stage++) {
      fill(k.integer(stage * stageBytes), k.integer(stage * tile.k()));
    }
    var full = k.variable(k.integer(0));
    var free = k.variable(k.integer(ahead * stageBytes));
    k.loop(
        k.integer(0),
        problem.depth,
        tile.k(),
        depth -> {
          k.awaitCopies(ahead - 1);
          k.barrier();
          // the stage that is filled was read before the barrier, and its copies take their time
          fill(free, depth.plus(ahead * tile.k()));
          multiply(full, sums);
          full.set(next(full, stageBytes));
          free.set(next(free, stageBytes));
        });
    k.awaitCopies(0);
    store(sums);
  }

  private Int next(Int offset, int stageBytes) {
    var next = offset.plus(stageBytes);
    return k.integer(0).where(next.eq(k.integer(tile.stages() * stageBytes)), next);
  }

  private SharedTile stageOfA(Int offset) {
    return matrix(offset, tile.m(), variant.transposeA());
  }

  private SharedTile stageOfB(Int offset) {
    return matrix(offset.plus(bytes(tile.m(), tile.k())), tile.n(), !variant.transposeB());
  }

  private SharedTile matrix(Int offset, int extent, boolean kIsRow) {
    return kIsRow
        ? ring.at(offset, type, tile.k(), extent)
        : ring.at(offset, type, extent, tile.k());
  }

  /** Starts the copies of a stage; beyond the matrices' ends they bring zeros. */
  private void fill(Int offset, Int depth) {
    copy(
        stageOfA(offset),
        problem.a,
        problem.lda,
        variant.accessA(),
        variant.transposeA(),
        problem.row,
        problem.m,
        depth);
    copy(
        stageOfB(offset),
        problem.b,
        problem.ldb,
        variant.accessB(),
        !variant.transposeB(),
        problem.column,
        problem.n,
        depth);
    k.commitCopies();
  }

  private void copy(
      SharedTile to,
      GlobalPointer from,
      Int ld,
      int access,
      boolean kIsRow,
      Int first,
      Int limit,
      Int depth) {
    var firstRow = kIsRow ? depth : first;
    var firstColumn = kIsRow ? first : depth;
    var rows = kIsRow ? problem.depth : limit;
    var columns = kIsRow ? limit : problem.depth;
    int elements = access / type.bytes();
    int chunksAcross = to.columns() / elements;
    int chunks = chunksAcross * to.rows();
    Consumer<Int> move =
        index -> {
          var toRow = index.div(chunksAcross);
          var toColumn = index.rem(chunksAcross).times(elements);
          var row = firstRow.plus(toRow);
          var column = firstColumn.plus(toColumn);
          var inside = row.lt(rows);
          // a row beyond the last is not read, yet its address should be one that could be
          var source = from.row(row.min(rows.plus(-1)), ld);
          if (access == 2) {
            var value = source.loadWhere(inside.and(column.lt(columns)), column);
            to.store(toRow, toColumn, value);
          } else {
            var left = columns.minus(column).times(type.bytes());
            var valid = left.max(k.integer(0)).min(k.integer(access));
            var read = valid.where(inside, k.integer(0));
            to.copyAsync(toRow, toColumn, access, source, column, read);
          }
        };
    if (access == 2) {
      // single elements are many: a loop of a few at a time takes fewer registers than all at once
      int atOnce = tile.threads() * Math.min(ELEMENTS_AT_ONCE, chunks / tile.threads());
      k.loop(
          k.integer(0),
          k.integer(chunks),
          atOnce,
          done -> each(atOnce, chunk -> move.accept(k.thread().plus(done).plus(chunk))));
    } else if (chunks < tile.threads()) {
      k.when(k.thread().lt(k.integer(chunks)), () -> move.accept(k.thread()));
    } else {
      each(chunks, chunk -> move.accept(k.thread().plus(chunk)));
    }
  }

  /** The first chunk of each round in which every thread moves one. */
  private void each(int chunks, IntConsumer round) {
    for (int chunk = 0; chunk < chunks; chunk += tile.threads()) {
      round.accept(chunk);
    }
  }

  private void multiply(Int offset, List<List<Real.Variable>> sums) {
    var a = stageOfA(offset);
    var b = stageOfB(offset);
    for (int depth = 0; depth < tile.k(); depth += MMA_K) {
      var rows = new ArrayList<List<Value>>();
      for (int row = 0; row < tile.threadM(); row += MMA_M) {
        rows.add(fragmentOfA(a, warpRow.plus(row), depth));
      }
      var columns = new ArrayList<List<Value>>();
      for (int column = 0; column < tile.threadN(); column += 2 * MMA_N) {
        var two = fragmentsOfB(b, warpColumn.plus(column), depth);
        columns.add(two.subList(0, 2));
        columns.add(two.subList(2, 4));
      }
      for (int row = 0; row < rows.size(); row++) {
        for (int column = 0; column < columns.size(); column++) {
          k.mma(shape, rows.get(row), columns.get(column), sums.get(row * columns.size() + column));
        }
      }
    }
  }

  /**
   * Matrices in the order of the fragment's registers: rows 0 and 8 of the first columns, then of
   * the other 8.
   */
  private List<Value> fragmentOfA(SharedTile a, Int row, int depth) {
    var low = lane.rem(8).plus(lane.div(8).rem(2).times(8));
    var high = lane.div(16).times(8);
    // transposed, a matrix is stored with K as its rows: what selects the row above selects the
    // column here
    return variant.transposeA()
        ? a.loadMatrices(
            lane.rem(8).plus(high).plus(depth), row.plus(lane.div(8).rem(2).times(8)), true)
        : a.loadMatrices(row.plus(low), high.plus(depth), false);
  }

  /** Two neighbouring fragments: of each the matrix of the first 8 of K, then of the other 8. */
  private List<Value> fragmentsOfB(SharedTile b, Int column, int depth) {
    var half = lane.div(8).rem(2).times(8);
    var fragment = lane.div(16).times(8);
    return variant.transposeB()
        ? b.loadMatrices(column.plus(lane.rem(8)).plus(fragment), half.plus(depth), false)
        : b.loadMatrices(lane.rem(8).plus(half).plus(depth), column.plus(fragment), true);
  }

  /**
   * A lane holds two neighbours in each of two rows of every 16x8 part, as Fragments.C_16X8 says.
   */
  private void store(List<List<Real.Variable>> sums) {
    var out = MatmulVariant.type(variant.outDType());
    int across = tile.threadN() / MMA_N;
    for (int part = 0; part < sums.size(); part++) {
      var column =
          problem.column.plus(warpColumn).plus(lane.rem(4).times(2)).plus(part % across * MMA_N);
      var bias = List.of(problem.bias(column), problem.bias(column.plus(1)));
      for (int half = 0; half < 2; half++) {
        var row =
            problem.row.plus(warpRow).plus(lane.div(4)).plus(part / across * MMA_M + half * 8);
        var inside = row.lt(problem.m);
        var target = problem.c.row(row, problem.n);
        var results = new ArrayList<Value>();
        for (int i = 0; i < 2; i++) {
          results.add(problem.finish(sums.get(part).get(half * 2 + i), bias.get(i)).to(out));
        }
        if (variant.pairs()) {
          target.storeWhere(inside.and(column.lt(problem.n)), column, results);
        } else {
          for (int i = 0; i < 2; i++) {
            target.storeWhere(
                inside.and(column.plus(i).lt(problem.n)), column.plus(i), results.get(i));
          }
        }
      }
    }
  }
}
