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
import java.util.List;
import java.util.function.Consumer;

/**
 * Multiplies tiles in shared memory into sums in registers. The two products of attention are all
 * it knows: rows with rows, and weights in registers with rows.
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
      case CORES -> new CoresEngine(k, tile, type);
      case TENSOR -> new TensorEngine(k, tile, type);
    };
  }

  /** The bytes that the engine needs for itself, at the end of shared memory. */
  public static int ownBytes(Tile tile) {
    return tile.unit() == Tile.Unit.CORES ? CoresEngine.weightBytes(tile) : 0;
  }

  /** The elements from one row of a tile in shared memory to the next. */
  public static int pitch(Tile.Unit unit, int columns) {
    return unit == Tile.Unit.CORES ? CoresEngine.pitch(columns) : TensorEngine.pitch(columns);
  }

  /** A tile of so many columns that {@link #dot} and {@link #addWeighted} read. */
  public abstract SharedTile tile(SharedTile shared, int offset, int rows, int columns);

  /** Where {@link #ownBytes} are. */
  public abstract void own(SharedTile shared, int offset);

  /** The left factor of {@link #dot}, a tile of as many rows as the block has. */
  public record Left(SharedTile tile, int columns, List<MatrixFragment> fragments) {
    public Left {
      fragments = List.copyOf(fragments);
    }
  }

  /**
   * A left factor that is in shared memory by now and is used many times.
   *
   * @param most columns whose fragments may stay in registers; with more they are read at each use
   */
  public abstract Left keep(SharedTile left, int columns, int most);

  /** Zeros for {@link #dot}. */
  public abstract RegisterTile scores(int columns);

  /** Zeros for {@link #addWeighted}. */
  public abstract RegisterTile sums(int columns);

  /** {@code scores += left · rightᵀ}, over the columns of left. */
  public abstract void dot(RegisterTile scores, Left left, SharedTile right);

  /**
   * {@code sums += weights · right}, of whose columns as many are taken from {@code column} on as
   * the sums have. The weights are rounded to the type of the tiles.
   */
  public void addWeighted(RegisterTile sums, RegisterTile weights, SharedTile right, Int column) {
    addWeighted(sums, weights, right, column, Taken.ALL);
  }

  /** What a product takes of the elements of its right factor. */
  enum Taken {
    ALL,
    /** The finite ones; the others count as 0. */
    FINITE,
    /**
     * The others, as codes that tell how many of each kind a sum of at most 64 has: {@link
     * #INFINITY}, {@link #MINUS_INFINITY} or {@link #NAN}. A finite one counts as 0.
     */
    CODES
  }

  /** The code of an infinity. */
  static final int INFINITY = 1;

  /** The code of minus infinity. */
  static final int MINUS_INFINITY = 1 << 7;

  /** The code of a NaN. */
  static final int NAN = 1 << 14;

  /** Sums of a row in a lane that lie within {@link #chunk} columns. */
  private static final int PLACES = 4;

  /** The same with a part of the elements of {@code right}. */
  public abstract void addWeighted(
      RegisterTile sums, RegisterTile weights, SharedTile right, Int column, Taken taken);

  /** Columns that all lanes of a row have sums of at once. */
  abstract int chunk();

  /**
   * Adds {@code weights · right} where not every row sees all rows of {@code right}. What a row
   * does not see has no influence on it, even if it is NaN or infinite, which a weight of 0 would
   * make NaN.
   *
   * @param weights 0 where a row does not see
   * @param ragged whether some row does not see all
   * @param hide makes zeros of what the rows do not see
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
          addWeighted(sums, weights, right, column, Taken.FINITE);
          addSpecial(sums, right, column, hide);
        });
  }

  /** The sum of the magnitudes of a tile, which is finite only where all elements are. */
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

  /** Adds the infinities and NaNs that the rows see. */
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
          addWeighted(codes, seen, right, from, Taken.CODES);
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

  /** The sum of the numbers that codes stand for. */
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

  /** Neighbours in a row of {@link #sums} that a thread holds. */
  abstract int neighbours();

  /**
   * Writes sums to global memory, those of 16 bits by way of shared memory, so that whole sectors
   * are written. All threads must come here, and none may need what is there.
   *
   * @param width columns of the block's sums
   * @param offset where in shared memory the tile may lie
   * @param copy as the rows of {@code out} allow
   * @param out where the block's row 0 and column 0 of the sums go
   * @param ld elements from one row to the next
   * @param rows how many rows there are
   * @param columns how many columns there are
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
        for (int c = 0; c < sums.columns(); c += neighbours()) {
          var column = sums.column(c);
          staging.store(sums.row(r), column, neighbours(sums, r, c, out.element()));
        }
      }
      k.barrier();
      copy.drain(staging, out, ld, rows, columns);
      return;
    }
    boolean together = copy.access() >= neighbours() * type.bytes();
    for (int r = 0; r < sums.rows(); r++) {
      var row = sums.row(r);
      var target = out.row(row, ld).plus(sums.firstColumn().wide());
      var left = columns.minus(sums.firstColumn());
      var inside = row.lt(rows);
      for (int c = 0; c < sums.columns(); c += neighbours()) {
        int at = sums.columnOffset(c);
        var values = neighbours(sums, r, c, out.element());
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

  private List<Value> neighbours(RegisterTile sums, int row, int column, Type as) {
    return sums.get(row, column, neighbours()).stream().map(sum -> sum.to(as)).toList();
  }
}
