package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * How a stage of an operand lies in shared memory, and how a warp reads fragments from it. A stage
 * has the rows (of a) or columns (of b) of a tile, its extent, and a depth along K.
 *
 * <p>Where rows in memory go along K, {@code ldmatrix} reads fragments of every width: a chunk of
 * 16 bytes is a row of one of its matrices. Where K is the row,
 *
 * <ul>
 *   <li>elements of 16 bits are transposed by {@code ldmatrix.trans};
 *   <li>bytes come from it as pairs of neighbours along the extent. Rows of K are stored in the
 *       order in which a lane then has four consecutive ones, and {@code prmt} takes the pairs
 *       apart. The two fragments so made have the even and the odd ones of 16 neighbours: the stage
 *       is {@link #interleaved};
 *   <li>elements of 32 bits are read one by one.
 * </ul>
 *
 * <p>Chunks are swizzled so that none of these reads has a bank conflict.
 *
 * @param element type in shared memory; {@link TensorMatmul} makes tf32 of f32
 * @param kIsRow whether rows in shared memory go along the extent, one for each of K
 */
public record Stage(Type element, boolean kIsRow, int extent, int depth) {

  /** Rows or columns of a fragment, or of two of eight. */
  static final int GROUP = 16;

  private static final int SINGLES_RUN = 32;

  public int bytes() {
    return extent * depth * element.bytes();
  }

  int rows() {
    return kIsRow ? depth : extent;
  }

  int columns() {
    return kIsRow ? extent : depth;
  }

  /**
   * Whether of 16 rows or columns the first of two fragments of eight has the even ones and the
   * second the odd ones, instead of the lower and the upper ones.
   */
  boolean interleaved() {
    return kIsRow && element.bytes() == 1;
  }

  /** The stage at a byte of shared memory, as a matrix of {@link #rows} and {@link #columns}. */
  public SharedTile at(SharedTile shared, Int offset) {
    return shared.at(offset, element, rows(), columns(), swizzle());
  }

  /** The same bytes as a matrix of wider elements. */
  public SharedTile at(SharedTile shared, Int offset, Type wider) {
    int columns = columns() * element.bytes() / wider.bytes();
    return shared.at(offset, wider, rows(), columns, swizzle());
  }

  private Swizzle swizzle() {
    boolean singles = kIsRow && element.bytes() == 4;
    return Swizzle.of(columns() * element.bytes(), singles ? SINGLES_RUN : Swizzle.CHUNK);
  }

  /** The row of shared memory for a row of the stage. */
  Int place(Int row) {
    if (!interleaved()) {
      return row;
    }
    // the second pair of every four goes to the upper half of 16
    var pair = row.rem(2).plus(row.div(4).rem(4).times(2));
    return row.div(16).times(16).plus(row.div(2).rem(2).times(8)).plus(pair);
  }

  /** The order of the four 8x8 matrices of 16 rows or columns at one step of K. */
  enum Order {
    /** The eight first rows, the eight last rows; then both in the upper half of the step. */
    ROWS,
    /**
     * The eight first columns in the lower and the upper half of the step; then the eight last
     * columns. The two registers of each fragment of b are neighbors as {@code ldmatrix} writes
     * them, or ptxas would copy them before every {@code mma}.
     */
    COLUMNS
  }

  /**
   * Reads the fragments of 16 rows or columns at one step of K: the one fragment of a, or the two
   * of b, one after the other.
   *
   * @param first a multiple of 16
   * @param from the first of K, within the stage
   */
  MatrixFragment fragments(KernelBuilder k, SharedTile stage, Int first, int from, Order order) {
    var lane = k.lane();
    // of the matrix whose row a lane's address gives
    var second = lane.div(8).rem(2);
    var third = lane.div(16);
    var half = order == Order.ROWS ? second : third;
    var depth = order == Order.ROWS ? third : second;
    if (!kIsRow) {
      var row = order == Order.ROWS ? lane.rem(GROUP) : lane.rem(8).plus(half.times(8));
      var column = depth.times(Swizzle.CHUNK / element.bytes()).plus(from);
      return elements(stage.loadMatrices(first.plus(row), column, false));
    }
    return switch (element.bytes()) {
      case 2 -> {
        var row = order == Order.ROWS ? lane.rem(8).plus(depth.times(8)) : lane.rem(GROUP);
        yield new MatrixFragment(
            stage.loadMatrices(row.plus(from), first.plus(half.times(8)), true));
      }
      case 1 -> {
        var pairs = stage.loadMatrices(lane.plus(from), first, true);
        var matrices = new ArrayList<Value>();
        for (int part = 0; part < 4; part += 2) {
          matrices.add(bytes(k, pairs.get(part), pairs.get(part + 1), 0x6420));
          matrices.add(bytes(k, pairs.get(part), pairs.get(part + 1), 0x7531));
        }
        yield new MatrixFragment(inOrder(matrices, order));
      }
      default -> {
        var row = lane.rem(4).plus(from);
        var column = first.plus(lane.div(4));
        var matrices =
            List.of(
                stage.load(row, column),
                stage.load(row, column.plus(8)),
                stage.load(row.plus(4), column),
                stage.load(row.plus(4), column.plus(8)));
        yield elements(inOrder(matrices, order));
      }
    };
  }

  /** Matrices in the order of rows, in another. */
  private static List<Value> inOrder(List<Value> matrices, Order order) {
    return order == Order.ROWS
        ? matrices
        : List.of(matrices.get(0), matrices.get(2), matrices.get(1), matrices.get(3));
  }

  private static Value bytes(KernelBuilder k, Value low, Value high, int selection) {
    return k.compute(Type.B32, "prmt.b32", low, high, k.integer(selection).value());
  }

  private MatrixFragment elements(List<Value> registers) {
    var fragment = new MatrixFragment(registers);
    return element == Type.F32 ? fragment.map(e -> e.as(Type.F32).widen()) : fragment;
  }
}
