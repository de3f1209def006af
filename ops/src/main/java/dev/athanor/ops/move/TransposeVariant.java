package dev.athanor.ops.move;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel that transposes matrices: a block moves a square tile through shared memory, and both
 * reads and writes global memory along rows.
 *
 * <p>A tile stores each element in a word of its own, with a row pitch of {@code tile + 1} words. A
 * warp accesses 32 columns of {@code vector} rows per step, without bank conflicts for any vector
 * width.
 *
 * <p>Parameters: x, y, the rows and columns of a matrix of x, the row pitches of x and y in
 * elements; then the number of matrices along the inner of two batch loops, and the batch strides
 * in x and y, of the inner loop and of the outer.
 *
 * @param bytes bytes of an element: 1, 2, 4 or 8
 * @param read elements per load; divides the columns and all strides of x
 * @param write elements per store; divides the rows and all strides of y
 */
record TransposeVariant(int bytes, int read, int write) implements Variant {

  static final int THREADS = 256;

  /** Banks of shared memory. */
  private static final int BANKS = 32;

  /** Returns the number of rows, and of columns, of a tile. */
  int tile() {
    return bytes == 8 ? BANKS : 2 * BANKS;
  }

  /** Returns the maximum number of elements per access. */
  static int widest(int bytes) {
    // with 8 bytes a lane, a warp already fills whole cache lines
    return bytes == 8 ? 1 : 16 / bytes;
  }

  @Override
  public String name() {
    return "transpose_b%d_v%d_v%d".formatted(8 * bytes, read, write);
  }

  private Type type() {
    return switch (bytes) {
      case 1 -> Type.U8;
      case 2 -> Type.U16;
      case 4 -> Type.U32;
      default -> Type.U64;
    };
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  private final class Writer {
    private final KernelBuilder k;
    private final GlobalPointer x;
    private final GlobalPointer y;
    private final Int rows;
    private final Int columns;
    private final Int pitchX;
    private final Int pitchY;
    private final Int firstRow;
    private final Int firstColumn;

    Writer(KernelBuilder k) {
      this.k = k;
      var allX = k.input("x", type());
      var allY = k.pointer("y", type());
      rows = k.integer("rows");
      columns = k.integer("columns");
      pitchX = k.integer("pitchX");
      pitchY = k.integer("pitchY");
      var inner = k.integer("inner");
      var innerX = k.wide("innerX");
      var innerY = k.wide("innerY");
      var outerX = k.wide("outerX");
      var outerY = k.wide("outerY");
      var tilesAlong = columns.plus(tile() - 1).div(tile());
      var tilesDown = rows.plus(tile() - 1).div(tile());
      var strip = k.block().div(tilesAlong);
      firstColumn = k.block().minus(strip.times(tilesAlong)).times(tile());
      var matrix = strip.div(tilesDown);
      firstRow = strip.minus(matrix.times(tilesDown)).times(tile());
      var outer = matrix.div(inner);
      var within = matrix.minus(outer.times(inner));
      x = allX.matrix(outer, outerX).matrix(within, innerX);
      y = allY.matrix(outer, outerY).matrix(within, innerY);
    }

    /** A position in a tile. */
    private record Position(Int row, Int column) {}

    /** A vector of x and its position in the tile. */
    private record Loaded(Position position, List<Value> vector) {}

    /** Returns the positions of this thread's vectors in a tile. */
    private List<Position> positions(int vector) {
      int lanesAlong = BANKS / vector;
      int along = tile() / BANKS;
      int parts = along * tile() / vector;
      var lanes =
          LinearLayout.of(Axis.LANE, Axis.COLUMN, lanesAlong)
              .times(Axis.LANE, Axis.ROW, KernelBuilder.WARP / lanesAlong);
      var lane = new LaneCoordinates(lanes, k.lane());
      int warps = THREADS / KernelBuilder.WARP;
      var positions = new ArrayList<Position>();
      for (int i = 0; i < parts / warps; i++) {
        var part = k.warp().plus(i * warps);
        var row = part.div(along).times(vector).plus(lane.row());
        var column = part.rem(along).times(BANKS).plus(lane.column().times(vector));
        positions.add(new Position(row, column));
      }
      return positions;
    }

    void write() {
      var slot = bytes == 8 ? Type.B64 : Type.B32;
      var tile = k.shared(slot, tile(), tile(), tile() + 1);
      var loaded = new ArrayList<Loaded>();
      for (var position : positions(read)) {
        var row = firstRow.plus(position.row);
        var column = firstColumn.plus(position.column);
        var source = x.row(row, pitchX);
        var inside = inside(row, rows, column, columns);
        loaded.add(new Loaded(position, source.loadWhere(inside, read, column)));
      }
      for (var each : loaded) {
        for (int i = 0; i < read; i++) {
          tile.store(each.position.row, each.position.column.plus(i), word(each.vector.get(i)));
        }
      }
      k.barrier();
      for (var position : positions(write)) {
        var values = new ArrayList<Value>();
        for (int i = 0; i < write; i++) {
          values.add(element(tile.load(position.column.plus(i), position.row)));
        }
        var row = firstColumn.plus(position.row);
        var column = firstRow.plus(position.column);
        y.row(row, pitchY).storeWhere(inside(row, columns, column, rows), column, values);
      }
    }

    private Predicate inside(Int row, Int rowCount, Int column, Int columnCount) {
      return row.lt(rowCount).and(column.lt(columnCount));
    }

    private Value word(Value element) {
      return bytes < 4 ? element.bits().value() : element;
    }

    private Value element(Value word) {
      return bytes == 2 ? k.compute(Type.U16, "cvt.u16.u32", word) : word;
    }
  }
}
