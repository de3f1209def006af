package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
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
  SharedTile at(SharedTile shared, Int offset, Type wider) {
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

  /**
   * Reads the fragments of 16 rows or columns at one step of K: four registers, of the first eight
   * and of the second eight in the lower half of the step, then of both in the upper half. That is
   * the order of a fragment of a; one of b is every other register.
   *
   * @param first a multiple of 16
   * @param from the first of K, within the stage
   */
  List<Value> fragments(KernelBuilder k, SharedTile stage, Int first, int from) {
    var lane = k.lane();
    if (!kIsRow) {
      var row = first.plus(lane.rem(GROUP));
      var column = lane.div(GROUP).times(Swizzle.CHUNK / element.bytes()).plus(from);
      return elements(stage.loadMatrices(row, column, false));
    }
    return switch (element.bytes()) {
      case 2 -> {
        var row = lane.rem(8).plus(lane.div(16).times(8)).plus(from);
        yield stage.loadMatrices(row, first.plus(lane.div(8).rem(2).times(8)), true);
      }
      case 1 -> {
        var pairs = stage.loadMatrices(lane.plus(from), first, true);
        yield List.of(
            bytes(k, pairs.get(0), pairs.get(1), 0x6420),
            bytes(k, pairs.get(0), pairs.get(1), 0x7531),
            bytes(k, pairs.get(2), pairs.get(3), 0x6420),
            bytes(k, pairs.get(2), pairs.get(3), 0x7531));
      }
      default -> {
        var row = lane.rem(4).plus(from);
        var column = first.plus(lane.div(4));
        yield elements(
            List.of(
                stage.load(row, column),
                stage.load(row, column.plus(8)),
                stage.load(row.plus(4), column),
                stage.load(row.plus(4), column.plus(8))));
      }
    };
  }

  private static Value bytes(KernelBuilder k, Value low, Value high, int selection) {
    return k.compute(Type.B32, "prmt.b32", low, high, k.integer(selection).value());
  }

  private List<Value> elements(List<Value> registers) {
    return element == Type.F32
        ? registers.stream().<Value>map(e -> e.as(Type.F32).widen()).toList()
        : registers;
  }
}
