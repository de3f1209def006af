package dev.athanor.ops.attention;

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
 * Multiplies tiles in shared memory into sums in registers. The two products of attention are all
 * it knows: rows with rows, and weights in registers with rows.
 */
abstract class Engine {

  /** The most padded columns of {@link #keep}'s tile whose fragments stay in registers. */
  static final int MOST_KEPT = 128;

  final KernelBuilder k;
  final Tile tile;
  final Type type;

  Engine(KernelBuilder k, Tile tile, Type type) {
    this.k = k;
    this.tile = tile;
    this.type = type;
  }

  static Engine of(KernelBuilder k, Tile tile, Type type) {
    return switch (tile.unit()) {
      case CORES -> new CoresEngine(k, tile, type);
      case TENSOR -> new TensorEngine(k, tile, type);
    };
  }

  /** The bytes that the engine needs for itself, at the end of shared memory. */
  static int ownBytes(Tile tile) {
    return tile.unit() == Tile.Unit.CORES ? CoresEngine.weightBytes(tile) : 0;
  }

  /** The elements from one row of a tile in shared memory to the next. */
  static int pitch(Tile.Unit unit, int columns) {
    return unit == Tile.Unit.CORES ? CoresEngine.pitch(columns) : TensorEngine.pitch(columns);
  }

  /** A tile of so many columns that {@link #dot} and {@link #addWeighted} read. */
  abstract SharedTile tile(SharedTile shared, int offset, int rows, int columns);

  /** Where {@link #ownBytes} are. */
  abstract void own(SharedTile shared, int offset);

  /** The left factor of {@link #dot}, a tile of as many rows as the block has. */
  record Left(SharedTile tile, int columns, List<List<Value>> fragments) {
    Left {
      fragments = List.copyOf(fragments);
    }
  }

  /** A left factor that is in shared memory by now and is used many times. */
  abstract Left keep(SharedTile left, int columns);

  /** Zeros for {@link #dot}. */
  abstract Part scores(int columns);

  /** Zeros for {@link #addWeighted}. */
  abstract Part sums(int columns);

  /** {@code scores += left · rightᵀ}, over the columns of left. */
  abstract void dot(Part scores, Left left, SharedTile right);

  /**
   * {@code sums += weights · right}, of whose columns as many are taken from {@code column} on as
   * the sums have. The weights are rounded to the type of the tiles.
   */
  abstract void addWeighted(Part sums, Part weights, SharedTile right, Int column);

  /** How many neighbouring lanes hold a row of {@link #scores} and of {@link #sums}. */
  abstract int lanesOfRow();

  /** Neighbours in a row of {@link #sums} that a thread holds. */
  abstract int neighbours();

  /** Combines what the lanes of a row have. */
  Real reduceRow(Real value, java.util.function.BinaryOperator<Real> combine) {
    return k.reduceLanes(value, lanesOfRow(), combine);
  }

  /** Whether this thread is the one that speaks for its rows. */
  Predicate speaks() {
    return k.thread().rem(lanesOfRow()).eq(0);
  }

  /** Zeros. */
  Part zeros(Int row, List<Integer> rows, Int column, List<Integer> columns) {
    var sums = new ArrayList<List<Real.Variable>>();
    for (int r = 0; r < rows.size(); r++) {
      var line = new ArrayList<Real.Variable>();
      for (int c = 0; c < columns.size(); c++) {
        line.add(k.variable(k.real(Type.F32, 0)));
      }
      sums.add(line);
    }
    return new Part(row, rows, column, columns, sums);
  }

  /**
   * Writes sums straight from registers.
   *
   * @param out where the block's row 0 and column 0 of the sums go
   * @param ld elements from one row to the next
   * @param rows how many rows there are
   * @param columns how many columns there are
   * @param whole whether neighbours may be written at once
   */
  void store(Part sums, GlobalPointer out, Int ld, Int rows, Int columns, boolean whole) {
    int together = neighbours();
    for (int r = 0; r < sums.rows().size(); r++) {
      var row = sums.row(r);
      var target = out.row(row, ld).plus(sums.column().wide());
      var left = columns.minus(sums.column());
      var inside = row.lt(rows);
      for (int c = 0; c < sums.columns().size(); c += together) {
        int at = sums.columns().get(c);
        var values = new ArrayList<Value>();
        for (int i = 0; i < together; i++) {
          values.add(sums.sums().get(r).get(c + i).to(out.element()));
        }
        if (whole) {
          target.storeWhere(inside.and(left.gt(k.integer(at))), k.integer(at), values);
        } else {
          for (int i = 0; i < together; i++) {
            target.storeWhere(
                inside.and(left.gt(k.integer(at + i))), k.integer(at + i), values.get(i));
          }
        }
      }
    }
  }
}
