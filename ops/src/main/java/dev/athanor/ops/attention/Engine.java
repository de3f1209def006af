package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import java.util.List;
import java.util.function.Consumer;

/**
 * Multiplies tiles in shared memory and accumulates in registers. An engine implements the two
 * products of attention: rows with rows, and weights in registers with rows.
 */
public abstract class Engine {

  final KernelBuilder k;
  final Tile tile;
  final Type type;

  Engine(KernelBuilder k, Tile tile, Type type) {
    this.k = k;
    this.tile = tile;
    this.type = type;
  }

  public static Engine of(KernelBuilder k, Tile tile, Type type) {
    return switch (tile.unit()) {
      case FMA -> new FmaEngine(k, tile, type);
      case TENSOR -> new TensorEngine(k, tile, type);
    };
  }

  /** Returns the bytes of the engine's scratch area at the end of shared memory. */
  public static int scratchBytes(Tile tile) {
    return tile.unit() == Tile.Unit.FMA ? FmaEngine.weightBytes(tile) : 0;
  }

  /** Returns the bytes of a tile of rows in shared memory. */
  public static int bytes(Tile.Unit unit, int rows, int columns, DType dtype) {
    int pitch =
        unit == Tile.Unit.FMA
            ? FmaEngine.pitch(columns, dtype.bytes())
            : TensorEngine.pitch(columns);
    return rows * pitch * dtype.bytes();
  }

  /** Returns a tile for {@link #dot} and {@link #addWeighted}. */
  public abstract SharedTile tile(SharedTile shared, int offset, int rows, int columns);

  /** Sets the scratch area of {@link #scratchBytes}. */
  public abstract void useScratch(SharedTile shared, int offset);

  /** The left operand of {@link #dot}, a tile with all rows of the block. */
  public record Left(SharedTile tile, int columns, List<MatrixFragment> fragments) {
    public Left {
      fragments = List.copyOf(fragments);
    }
  }

  /**
   * Returns a left operand for repeated use; the tile must be complete in shared memory.
   *
   * @param most maximum number of columns for which fragments stay in registers; fragments of wider
   *     tiles are loaded at each use
   */
  public abstract Left keep(SharedTile left, int columns, int most);

  /** Returns zeros for {@link #dot}. */
  public abstract RegisterTile scores(int columns);

  /** Returns zeros for {@link #addWeighted}. */
  public abstract RegisterTile sums(int columns);

  /** Returns zeros for the part of an output's columns that this warp computes. */
  RegisterTile part(int columns) {
    return sums(columns);
  }

  /** Returns the first column of {@link #part}. */
  Int firstOfPart(int columns) {
    return k.integer(0);
  }

  /** Computes {@code scores += left · rightᵀ}, over the columns of left. */
  public abstract void dot(RegisterTile scores, Left left, SharedTile right);

  /**
   * Computes {@code sums += weights · right} with the columns of {@code right} that start at {@code
   * column}, as many as the sums have. Tensor cores round the weights to the type of the tiles.
   */
  public void addWeighted(RegisterTile sums, RegisterTile weights, SharedTile right, Int column) {
    addWeighted(sums, weights, right, column, Mapping.ALL);
  }

  /** A mapping of the elements of a right operand before the product. */
  enum Mapping {
    ALL,
    /** Keeps finite elements and replaces the others by 0. */
    FINITE,
    /**
     * Replaces non-finite elements by {@link #INFINITY}, {@link #MINUS_INFINITY} or {@link #NAN},
     * and finite ones by 0. A sum of at most 64 codes determines the number of each kind.
     */
    CODES
  }

  /** The code of an infinity. */
  static final int INFINITY = 1;

  /** The code of minus infinity. */
  static final int MINUS_INFINITY = 1 << 7;

  /** The code of a NaN. */
  static final int NAN = 1 << 14;

  /** The sums of a row that a lane holds within {@link #chunk} columns. */
  private static final int PLACES = 4;

  /** Computes {@code sums += weights · right} with mapped elements of {@code right}. */
  public abstract void addWeighted(
      RegisterTile sums, RegisterTile weights, SharedTile right, Int column, Mapping mapping);

  /**
   * Returns the number of columns over which the lanes of a row distribute {@link #PLACES} sums
   * each.
   */
  abstract int chunk();

  /**
   * Adds {@code weights · right} if a row may not see all rows of {@code right}. Hidden NaNs and
   * infinities do not contribute, although a product with a weight of 0 would be NaN.
   *
   * @param weights 0 for hidden elements
   * @param ragged whether a row does not see all rows of {@code right}
   * @param hide sets hidden elements to 0
   */
  public void addSeen(
      RegisterTile sums,
      RegisterTile weights,
      SharedTile right,
      Int column,
      Predicate ragged,
      Consumer<RegisterTile> hide) {
    var magnitudes = k.variable(k.real(Type.F32, 0));
    k.when(ragged, () -> magnitudes.set(magnitudes(right)));
    k.when(
        magnitudes.lt(Double.POSITIVE_INFINITY),
        () -> addWeighted(sums, weights, right, column),
        () -> {
          addWeighted(sums, weights, right, column, Mapping.FINITE);
          addSpecial(sums, right, column, hide);
        });
  }

  /** Returns the sum of the magnitudes of a tile, which is finite only if all elements are. */
  private Real magnitudes(SharedTile right) {
    int atOnce = 16 / type.bytes();
    int across = right.columns() / atOnce;
    var sum = k.variable(k.real(Type.F32, 0));
    k.loop(
        k.lane(),
        k.integer(right.rows() * across),
        KernelBuilder.WARP,
        at ->
            right
                .load(atOnce, at.div(across), at.rem(across).times(atOnce))
                .forEach(element -> sum.add(element.widen().abs())));
    return k.reduceLanes(sum, KernelBuilder.WARP, Real::plus);
  }

  /** Adds the visible infinities and NaNs. */
  private void addSpecial(
      RegisterTile sums, SharedTile right, Int column, Consumer<RegisterTile> hide) {
    var seen = scores(tile.columns());
    seen.map(s -> s.constant(1));
    hide.accept(seen);
    int chunks = sums.columns() / PLACES;
    k.loop(
        k.integer(0),
        k.integer(chunks),
        1,
        number -> {
          var codes = sums(chunk());
          var from = column.plus(number.times(chunk()));
          addWeighted(codes, seen, right, from, Mapping.CODES);
          for (int r = 0; r < sums.rows(); r++) {
            for (int i = 0; i < PLACES; i++) {
              var value = decode(codes.get(r, i));
              for (int c = 0; c < chunks; c++) {
                var sum = sums.get(r, c * PLACES + i);
                sum.set(sum.plus(value.where(number.eq(c), value.constant(0))));
              }
            }
          }
        });
  }

  /** Returns the sum of the infinities and NaNs that codes represent. */
  private Real decode(Real codes) {
    var counts = codes.round();
    var zero = codes.constant(0);
    var up = codes.constant(Double.POSITIVE_INFINITY);
    var down = codes.constant(Double.NEGATIVE_INFINITY);
    var infinite =
        up.where(counts.bits(0, 7).gt(k.integer(0)), zero)
            .plus(down.where(counts.bits(7, 7).gt(k.integer(0)), zero));
    return codes.constant(Double.NaN).where(counts.shr(14).gt(k.integer(0)), infinite);
  }

  /** Returns the number of adjacent columns of {@link #sums} that a thread holds. */
  abstract int neighbors();

  /**
   * Writes sums to global memory; 16-bit elements are staged in shared memory, so that whole
   * sectors are written. All threads of the block must call this, and the staging area must be
   * unused.
   *
   * @param width columns of the block's sums
   * @param offset of the staging area in shared memory
   * @param copy with the access width that the rows of {@code out} allow
   * @param out destination of the block's row 0 and column 0
   * @param ld leading dimension of {@code out}, in elements
   * @param rows number of rows to write
   * @param columns number of columns to write
   */
  public void write(
      RegisterTile sums,
      int width,
      SharedTile shared,
      int offset,
      RowCopy copy,
      GlobalPointer out,
      Int ld,
      Int rows,
      Int columns) {
    if (out.element().bytes() == 2) {
      var staging = tile(shared, offset, tile.rows(), width);
      for (int r = 0; r < sums.rows(); r++) {
        for (int c = 0; c < sums.columns(); c += neighbors()) {
          var column = sums.column(c);
          staging.store(sums.row(r), column, neighbors(sums, r, c, out.element()));
        }
      }
      k.barrier();
      copy.drain(staging, out, ld, rows, columns);
      return;
    }
    boolean together = copy.access() >= neighbors() * type.bytes();
    for (int r = 0; r < sums.rows(); r++) {
      var row = sums.row(r);
      var target = out.row(row, ld).plus(sums.firstColumn().wide());
      var left = columns.minus(sums.firstColumn());
      var inside = row.lt(rows);
      for (int c = 0; c < sums.columns(); c += neighbors()) {
        int at = sums.columnOffset(c);
        var values = neighbors(sums, r, c, out.element());
        if (together) {
          target.storeWhere(inside.and(left.gt(k.integer(at))), k.integer(at), values);
        } else {
          for (int i = 0; i < values.size(); i++) {
            target.storeWhere(
                inside.and(left.gt(k.integer(at + i))), k.integer(at + i), values.get(i));
          }
        }
      }
    }
  }

  private List<Value> neighbors(RegisterTile sums, int row, int column, Type as) {
    return sums.get(row, column, neighbors()).stream().map(sum -> sum.to(as)).toList();
  }
}
