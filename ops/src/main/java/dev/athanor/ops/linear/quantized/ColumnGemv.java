package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.WeightPatch;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Products of few rows with int8 {@link ColumnWeights}. Eight lanes take adjacent columns; the
 * other lanes and warps of a block share K in patches of eight weight rows. The partial sums are
 * added in shared memory in a fixed order.
 *
 * @param rows of the left matrix per block
 * @param columns per lane
 * @param whole whether K is a multiple of the patch depth
 * @param products number of products
 */
record ColumnGemv(
    Packing.AlongN packing,
    DType in,
    Epilogue epilogue,
    int rows,
    int columns,
    boolean whole,
    int products)
    implements Variant {

  static final int THREADS = 256;

  /** Lanes along N, so that each row of a patch is at least one sector. */
  private static final int ACROSS = 8;

  /** The number of threads that share K. */
  static final int WAYS = THREADS / ACROSS;

  /** The maximum columns per lane. */
  static final int COLUMNS = 4;

  @Override
  public String name() {
    return "gemv_%s_%s%s_m%d_n%d%s%s"
        .formatted(
            packing.text(),
            in.text(),
            epilogue.name(),
            rows,
            columns,
            whole ? "" : "_edge",
            products > 1 ? "_p" + products : "");
  }

  /** Returns the columns per block. */
  int tile() {
    return ACROSS * columns;
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var problem =
        new ProjectionParameters(
            k, packing, in, epilogue, products, (m, n) -> n.plus(tile() - 1).div(tile()));
    var firstColumn = problem.tile.times(tile());
    var weights = new ColumnWeights(k, packing.format(), problem.weights, problem.n);
    var way = k.thread().div(ACROSS);
    var inTile = k.thread().rem(ACROSS).times(columns);
    var column = firstColumn.plus(inTile);
    var firstRow = k.blockY().times(rows);
    var sums =
        new RegisterTile(
            k,
            new RegisterTile.Layout(
                firstRow,
                IntStream.range(0, rows).boxed().toList(),
                inTile,
                IntStream.range(0, columns).boxed().toList(),
                ACROSS));
    k.when(
        column.lt(problem.n),
        () ->
            k.loop(
                way.times(ColumnWeights.ROWS),
                problem.depth,
                WAYS * ColumnWeights.ROWS,
                depth -> {
                  var patch =
                      weights.patch(depth, ColumnWeights.ROWS, column, columns, problem.depth);
                  multiply(problem, depth, firstRow, patch, sums);
                }));

    var parts = k.shared(Type.F32, WAYS, tile(), tile() + 4);
    for (int r = 0; r < rows; r++) {
      for (int c = 0; c < columns; c += 4) {
        parts.store(way, inTile.plus(c), sums.get(r, c, Math.min(columns - c, 4)));
      }
      k.barrier();
      store(k, problem, parts, firstColumn, firstRow.plus(r));
      k.barrier();
    }
  }

  private void multiply(
      ProjectionParameters problem, Int depth, Int firstRow, WeightPatch patch, RegisterTile sums) {
    for (int r = 0; r < rows; r++) {
      var x = left(problem, firstRow.plus(r).min(problem.m.plus(-1)), depth);
      for (int c = 0; c < columns; c++) {
        var sum = sums.get(r, c);
        Real dot = sum;
        for (int i = 0; i < x.size(); i++) {
          dot = x.get(i).fma(patch.get(i, c), dot);
        }
        sum.set(dot);
      }
    }
  }

  private List<Real> left(ProjectionParameters problem, Int row, Int depth) {
    var source = problem.a.row(row, problem.depth);
    var values = new ArrayList<Real>();
    int atOnce = whole ? 16 / in.bytes() : 1;
    for (int i = 0; i < ColumnWeights.ROWS; i += atOnce) {
      var at = depth.plus(i);
      (whole ? source.load(atOnce, at) : source.loadWhere(at.lt(problem.depth), 1, at))
          .forEach(v -> values.add(v.widen()));
    }
    return values;
  }

  /** Adds the partial sums of a row and stores the results. */
  private void store(
      KernelBuilder k, ProjectionParameters problem, SharedTile parts, Int firstColumn, Int row) {
    var column = firstColumn.plus(k.thread());
    k.when(
        k.thread().lt(tile()).and(column.lt(problem.n)).and(row.lt(problem.m)),
        () -> {
          var sum = parts.load(k.integer(0), k.thread()).widen();
          for (int way = 1; way < WAYS; way++) {
            sum = sum.plus(parts.load(k.integer(way), k.thread()).widen());
          }
          var epilogue = problem.epilogue();
          var value =
              epilogue.finish(
                  sum, epilogue.row(row, problem.m), epilogue.column(column, problem.n));
          problem.c.row(row, problem.n).store(column, value);
        });
  }
}
