package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.OpaqueMatrix;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.TensorTile.Instruction;
import java.util.ArrayList;
import java.util.List;

/**
 * The layout of a stage of an operand in shared memory, from which a warp reads fragments. A stage
 * has an extent, the rows (of a) or columns (of b) of a tile, and a depth along K.
 *
 * <p>If rows in memory run along K, {@code ldmatrix} reads fragments of every element width: a
 * chunk of 16 bytes is a row of one of its matrices. If K is the row index,
 *
 * <ul>
 *   <li>elements of 16 bits are transposed by {@code ldmatrix.trans};
 *   <li>bytes are read by it as pairs of neighbors along the extent. Rows of K are stored in an
 *       order in which each lane receives four consecutive ones, and {@code prmt} separates the
 *       pairs. The two resulting fragments have the even and the odd ones of 16 neighbors: the
 *       stage is {@link #interleaved};
 *   <li>elements of 32 bits are read one by one.
 * </ul>
 *
 * <p>Chunks are swizzled so that none of these reads has a bank conflict.
 *
 * <p>A warpgroup reads rows of 128 bytes. Longer rows are divided into panels, which follow each
 * other in memory.
 *
 * <p>{@code wmma} reads rows that are a constant distance apart, which are padded instead of
 * swizzled.
 *
 * @param element type in shared memory; {@link TensorMatmul} converts f32 to tf32
 * @param kIsRow whether K is the row index, so that rows in shared memory run along the extent
 * @param reader the instruction that reads it
 */
public record Stage(Type element, boolean kIsRow, int extent, int depth, Instruction reader) {

  /** Rows of a fragment of a, or columns of two fragments of b. */
  static final int GROUP = 16;

  /** Bytes after which the swizzle of rows of 128 bytes repeats, to which panels are aligned. */
  public static final int REPEAT = 8 * SharedTile.ASYNC_ROW;

  private static final int SINGLES_RUN = 32;

  /** Returns a stage for {@code mma.sync}. */
  public Stage(Type element, boolean kIsRow, int extent, int depth) {
    this(element, kIsRow, extent, depth, Instruction.MMA);
  }

  public int bytes() {
    return rows() * pitch() * element.bytes() * columns() / width();
  }

  /** Returns the bytes of its elements, without padding. */
  int elementBytes() {
    return extent * depth * element.bytes();
  }

  public int rows() {
    return kIsRow ? depth : extent;
  }

  public int columns() {
    return kIsRow ? extent : depth;
  }

  /**
   * Returns whether the first of two fragments of eight rows or columns has the even ones of 16 and
   * the second the odd ones, instead of the lower and the upper half.
   */
  boolean interleaved() {
    return kIsRow && element.bytes() == 1;
  }

  private boolean panels() {
    return reader == Instruction.WGMMA;
  }

  /** Returns the distance between rows in shared memory, in elements. */
  private int pitch() {
    return width() + (reader == Instruction.WMMA ? Swizzle.CHUNK / element.bytes() : 0);
  }

  /** Returns the columns of a panel: all, without panels. */
  private int width() {
    return panels() ? SharedTile.ASYNC_ROW / element.bytes() : columns();
  }

  /** Returns the bytes of a panel if there are several, otherwise 0. */
  public int panelBytes() {
    return columns() > width() ? rows() * SharedTile.ASYNC_ROW : 0;
  }

  /**
   * Returns the stage at an offset in shared memory, as a matrix of {@link #rows} and {@link
   * #columns}, or of the rows of all panels.
   */
  public SharedTile at(SharedTile shared, Int offset) {
    return at(shared, offset, element);
  }

  /** Returns the stage at an offset in shared memory, as a matrix of wider elements. */
  public SharedTile at(SharedTile shared, Int offset, Type wider) {
    int rows = rows() * columns() / width();
    int columns = width() * element.bytes() / wider.bytes();
    return reader == Instruction.WMMA
        ? shared.at(offset, wider, rows, columns, pitch() * element.bytes() / wider.bytes())
        : shared.at(offset, wider, rows, columns, swizzle());
  }

  private LinearLayout swizzle() {
    boolean singles = kIsRow && element.bytes() == 4 && !panels();
    return Swizzle.of(width() * element.bytes(), singles ? SINGLES_RUN : Swizzle.CHUNK);
  }

  /** Returns the row in shared memory of an element of the stage. */
  Int place(Int row, Int column) {
    return panels() ? place(row).plus(column.div(width()).times(rows())) : place(row);
  }

  /** Returns the column in shared memory of a column of the stage. */
  Int inPanel(Int column) {
    return panels() ? column.rem(width()) : column;
  }

  /** Returns the row in shared memory, within a panel, of a row of the stage. */
  Int place(Int row) {
    if (!interleaved()) {
      return row;
    }
    // the second pair of each four is in the upper half of 16
    var pair = row.rem(2).plus(row.div(4).rem(4).times(2));
    return row.div(16).times(16).plus(row.div(2).rem(2).times(8)).plus(pair);
  }

  /**
   * Returns the descriptor of a factor of {@code wgmma}.
   *
   * @param offset of the stage in shared memory
   * @param first row of a or column of b, a multiple of 64
   * @param from first index along K, within the stage
   */
  public Wide descriptor(SharedTile shared, Int offset, Int first, int from) {
    int row = SharedTile.ASYNC_ROW;
    var within =
        kIsRow
            ? first.div(width()).times(panelBytes()).plus(from * row)
            : first.times(row).plus(from * element.bytes());
    return at(shared, offset.plus(within)).descriptor(panelBytes());
  }

  /**
   * Loads 16 rows of a or columns of b at one step of K for {@code wmma}.
   *
   * @param first a multiple of 16
   * @param from first index along K, within the stage
   */
  OpaqueMatrix.Factor factor(SharedTile stage, OpaqueMatrix.Side side, Int first, Int from) {
    boolean transposed = kIsRow == (side == OpaqueMatrix.Side.A);
    return kIsRow
        ? stage.load(side, from, first, transposed)
        : stage.load(side, first, from, transposed);
  }

  /** The order of the four 8x8 matrices of 16 rows or columns at one step of K. */
  enum Order {
    /** The first eight rows, the last eight rows; then both in the upper half of the step. */
    ROWS,
    /**
     * The first eight columns in the lower and the upper half of the step; then the last eight
     * columns. {@code ldmatrix} then writes the two registers of each fragment of b next to each
     * other; otherwise ptxas would copy them before every {@code mma}.
     */
    COLUMNS
  }

  /**
   * Loads the fragments of 16 rows or columns at one step of K: one fragment of a, or two
   * consecutive fragments of b.
   *
   * @param first a multiple of 16
   * @param from first index along K, within the stage
   */
  MatrixFragment fragments(KernelBuilder k, SharedTile stage, Int first, int from, Order order) {
    int bits = Byte.SIZE * element.bytes();
    int step = 2 * Swizzle.CHUNK / element.bytes();
    var ofExtent =
        order == Order.ROWS
            ? Fragments.a(GROUP, step, bits).layout()
            : Fragments.tiled(Fragments.b(step, bits), step, GROUP).layout().transposed();
    if (!kIsRow) {
      return elements(stage.loadFragment(ofExtent, k.lane(), first, k.integer(from)));
    }
    return switch (element.bytes()) {
      case 2 ->
          new MatrixFragment(
              stage.loadFragment(ofExtent.transposed(), k.lane(), k.integer(from), first));
      case 1 -> {
        var pairs =
            stage.loadFragment(
                Fragments.BYTE_PAIRS_32X16.layout(), k.lane(), k.integer(from), first);
        var matrices = new ArrayList<Value>();
        for (int part = 0; part < 4; part += 2) {
          matrices.add(bytes(k, pairs.get(part), pairs.get(part + 1), 0x6420));
          matrices.add(bytes(k, pairs.get(part), pairs.get(part + 1), 0x7531));
        }
        yield new MatrixFragment(inOrder(matrices, order));
      }
      default -> {
        var at = new LaneCoordinates(Fragments.a(GROUP, 8, 32).layout().transposed(), k.lane());
        var row = at.row().plus(from);
        var column = first.plus(at.column());
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

  /** Reorders matrices from the order of rows. */
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
