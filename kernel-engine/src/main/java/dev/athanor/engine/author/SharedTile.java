package dev.athanor.engine.author;

import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** A row-major matrix in shared memory. */
public final class SharedTile {
  private final KernelBuilder k;
  private final Type element;
  private final int rows;
  private final int columns;
  private final int pitch;
  private final Swizzle swizzle;
  private final Int address;

  SharedTile(
      KernelBuilder k,
      Type element,
      int rows,
      int columns,
      int pitch,
      Swizzle swizzle,
      Int address) {
    this.k = k;
    this.element = element;
    this.rows = rows;
    this.columns = columns;
    this.pitch = pitch;
    this.swizzle = swizzle;
    this.address = address;
  }

  public int rows() {
    return rows;
  }

  public int columns() {
    return columns;
  }

  /** The bytes from the first to behind the last row. */
  public int bytes() {
    return rows * pitch * element.bytes();
  }

  /** The element at a place. */
  public Value load(Int row, Int column) {
    return load(1, row, column).getFirst();
  }

  /**
   * {@code count} elements of a row from a column on; the first must be aligned to them all, at
   * most 16 bytes. Elements of a byte come as 32-bit integers when there are several.
   */
  public List<Value> load(int count, Int row, Int column) {
    return new VectorAccess(element, count).load(k, null, "ld.shared", at(row, column).address());
  }

  /** Like {@link #load(int, Int, Int)} where the condition holds, else zeros. */
  public List<Value> loadWhere(Predicate condition, int count, Int row, Int column) {
    return new VectorAccess(element, count)
        .load(k, condition, "ld.shared", at(row, column).address());
  }

  public void store(Int row, Int column, Value value) {
    store(row, column, List.of(value));
  }

  /** Writes consecutive elements of a row, of which the first must be aligned to them all. */
  public void store(Int row, Int column, List<? extends Value> values) {
    new VectorAccess(element, values.size())
        .store(k, null, "st.shared", at(row, column).address(), values);
  }

  /** Writes an element where the condition holds. */
  public void storeWhere(Predicate condition, Int row, Int column, Value value) {
    storeWhere(condition, row, column, List.of(value));
  }

  /** Writes consecutive elements of a row where the condition holds. */
  public void storeWhere(Predicate condition, Int row, Int column, List<? extends Value> values) {
    new VectorAccess(element, values.size())
        .store(k, condition, "st.shared", at(row, column).address(), values);
  }

  /**
   * Copies elements from global memory to a place here, later than this is issued: see {@link
   * KernelBuilder#commitCopies}. What lies behind the first {@code valid} bytes becomes zero and is
   * not read.
   *
   * @param bytes 4, 8 or 16; both addresses must be multiples of it
   * @param valid from 0 to {@code bytes}
   */
  public void copyAsync(
      Int row, Int column, int bytes, GlobalPointer source, Int index, Int valid) {
    if (source.element() != element) {
      throw new IllegalArgumentException(
          "%s: cannot copy elements of .%s to a tile of .%s, since a copy converts nothing; say with as() that the bits are meant"
              .formatted(BodyWriter.here(), source.element().word(), element.word()));
    }
    k.emit(
        "cp.async.%s.shared.global".formatted(bytes == 16 ? "cg" : "ca"),
        at(row, column).address(),
        source.at(index),
        Immediate.of(bytes),
        valid.operand());
  }

  /**
   * {@code ldmatrix}: four 8x8 matrices of 16-bit elements, whose rows lie where the lanes say:
   * lane {@code 8m + r} gives row {@code r} of matrix {@code m}. Each lane receives two elements of
   * each matrix, as {@code Fragments.MATRIX_8X8} or, transposed, {@code MATRIX_8X8_TRANSPOSED}
   * says.
   */
  public List<Value> loadMatrices(Int row, Int column, boolean transposed) {
    var values = new ArrayList<Value>();
    for (int i = 0; i < 4; i++) {
      values.add(new Value(k, Type.B32, k.register(Type.B32)));
    }
    k.emit(
        "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16".formatted(transposed ? ".trans" : ""),
        KernelBuilder.vector(values),
        chunkAt(row, column).address());
    return values;
  }

  /** A matrix from byte {@code offset} of this one on, rows {@code otherPitch} elements apart. */
  public SharedTile at(Int offset, Type type, int otherRows, int otherColumns, int otherPitch) {
    return new SharedTile(
        k, type, otherRows, otherColumns, otherPitch, Swizzle.NONE, address.plus(offset));
  }

  /**
   * A swizzled matrix from byte {@code offset} of this one on; a row's length must suit {@link
   * Swizzle#of}.
   */
  public SharedTile at(Int offset, Type type, int otherRows, int otherColumns) {
    return at(offset, type, otherRows, otherColumns, Swizzle.of(otherColumns * type.bytes()));
  }

  /** A matrix from byte {@code offset} of this one on, swizzled as is said. */
  public SharedTile at(
      Int offset, Type type, int otherRows, int otherColumns, Swizzle otherSwizzle) {
    return new SharedTile(
        k, type, otherRows, otherColumns, otherColumns, otherSwizzle, address.plus(offset));
  }

  private Int at(Int row, Int column) {
    var start = address.plus(row.times(pitch * element.bytes()));
    if (swizzle.equals(Swizzle.NONE)) {
      return start.plus(column.times(element.bytes()));
    }
    int elements = Swizzle.CHUNK / element.bytes();
    var inChunk = column.plus(-(column.constant / elements * elements)).rem(elements);
    return chunk(start, row, column).plus(inChunk.times(element.bytes()));
  }

  /** The address of the chunk that begins at a column. */
  private Int chunkAt(Int row, Int column) {
    return chunk(address.plus(row.times(pitch * element.bytes())), row, column);
  }

  private Int chunk(Int start, Int row, Int column) {
    int elements = Swizzle.CHUNK / element.bytes();
    // what is a multiple of the period, or of a chunk, needs no computing on the device
    var inPeriod = new Int(k, row.base(), row.constant % swizzle.period());
    int whole = column.constant / elements;
    // the exchange stays within so many chunks, so what is beyond is only added
    int near = whole % ((swizzle.mask() + 1) * swizzle.run());
    var chunk = column.plus(-whole * elements).div(elements).plus(near);
    var step = inPeriod.div(swizzle.rowsPerStep()).rem(swizzle.mask() + 1);
    return start
        .plus(chunk.xor(step.times(swizzle.run())).times(Swizzle.CHUNK))
        .plus((whole - near) * Swizzle.CHUNK);
  }
}
