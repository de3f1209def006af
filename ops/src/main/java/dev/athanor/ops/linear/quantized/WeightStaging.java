package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.WeightPatch;
import dev.athanor.ops.tile.Producer;
import dev.athanor.ops.tile.Stage;
import java.util.ArrayList;
import java.util.List;

/**
 * Loads stages of int8 weights, block formats or E2M1 weights into shared memory, dequantized in
 * registers; {@link PairedStaging} handles four-bit weights. Beyond the ends of the weights, a
 * stage contains repeated weights, which are multiplied by zeros or whose results are not stored;
 * int8 stages contain zeros there.
 */
final class WeightStaging implements Producer {

  /** Adjacent elements per store. */
  private static final int CHUNK = 8;

  private final KernelBuilder k;
  private final SharedTile shared;
  private final Stage stage;
  private final ProjectionParameters problem;
  private final Int firstColumn;
  private final Packing packing;
  private final int access;
  private final int threads;
  private final RowWeights rows;

  /**
   * Describes the weights that a block multiplies.
   *
   * @param stage with K as the row index if {@link #kIsRow}
   * @param firstColumn of the block
   * @param access int8 weights per load, from 1 to 8
   */
  WeightStaging(
      KernelBuilder k,
      SharedTile shared,
      Stage stage,
      ProjectionParameters problem,
      Int firstColumn,
      Packing packing,
      int access,
      int threads) {
    this.k = k;
    this.shared = shared;
    this.stage = stage;
    this.problem = problem;
    this.firstColumn = firstColumn;
    this.packing = packing;
    this.access = access;
    this.threads = threads;
    this.rows = new RowWeights(k, problem, packing, CHUNK, false);
  }

  /** Returns whether a thread decodes weights that are adjacent along N. */
  static boolean kIsRow(Packing packing) {
    return packing instanceof Packing.AlongN along && along.format() != ColumnWeights.Format.GPTQ;
  }

  @Override
  public Runnable fill(Int offset, Int depth) {
    var to = stage.at(shared, offset);
    List<Runnable> stores = new ArrayList<>();
    if (kIsRow(packing)) {
      int rowsOfPiece = stage.extent() * stage.depth() / (CHUNK * threads);
      var column = k.thread().rem(stage.extent() / CHUNK).times(CHUNK);
      var row = k.thread().div(stage.extent() / CHUNK).times(rowsOfPiece);
      var values = patch(depth.plus(row), rowsOfPiece, firstColumn.plus(column));
      for (int i = 0; i < rowsOfPiece; i++) {
        var chunk = round(values.row(i));
        int within = i;
        stores.add(() -> store(to, row.plus(within), column, chunk));
      }
    } else {
      int part = RowWeights.part(packing, CHUNK);
      int parts = stage.depth() / part;
      for (int piece = 0; piece < stage.extent() * parts; piece += threads) {
        var index = k.thread().plus(piece);
        var column = spread(index.div(parts));
        var ofStage = index.rem(parts);
        var last = problem.depth.div(part).plus(-1);
        var runs =
            rows.decode(
                firstColumn.plus(column).min(problem.n.plus(-1)),
                depth.div(part).plus(ofStage).min(last));
        var firsts = rows.firsts(ofStage);
        for (int run = 0; run < runs.size(); run++) {
          var chunk = round(runs.get(run).values());
          var first = firsts.get(run);
          stores.add(() -> store(to, column, first, chunk));
        }
      }
    }
    return () -> stores.forEach(Runnable::run);
  }

  /**
   * Returns the column of a group of lanes. The runs of a part are {@code apart} chunks apart, and
   * the first runs fill only every other group of {@code apart} chunks of a row. The swizzle maps
   * two columns that differ only in that bit to each other's gaps, so these columns are written
   * together.
   */
  private Int spread(Int column) {
    int apart = RowWeights.apart(packing) / CHUNK;
    if (apart < 2 || apart > 4 || stage.element().bytes() != 2) {
      return column;
    }
    int bit = Integer.numberOfTrailingZeros(apart);
    var differ = column.xor(column.shr(bit)).and(1);
    return column.xor(differ.times(1 | apart));
  }

  /** Returns a number of rows along K of eight columns. */
  private WeightPatch patch(Int row, int count, Int column) {
    var weights = new ColumnWeights(k, ColumnWeights.Format.INT8, problem.weights, problem.n);
    var parts = new ArrayList<WeightPatch>();
    for (int c = 0; c < CHUNK; c += access) {
      parts.add(weights.patch(row, count, column.plus(c), access, problem.depth));
    }
    return WeightPatch.beside(parts, count);
  }

  private List<Value> round(List<Real> values) {
    // f32 is rounded when it is read
    return values.stream().<Value>map(v -> v.to(stage.element())).toList();
  }

  private static void store(SharedTile to, Int row, Int column, List<Value> values) {
    int atOnce = Math.min(values.size(), 16 / values.getFirst().type().bytes());
    for (int i = 0; i < values.size(); i += atOnce) {
      to.store(row, column.plus(i), values.subList(i, i + atOnce));
    }
  }
}
