package dev.athanor.engine.author;

import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** A row-major matrix in shared memory, optionally swizzled. */
public final class SharedTile {
  private final BodyEmitter emitter;
  private final Type element;
  private final int rows;
  private final int columns;
  private final int pitch;
  private final Swizzle swizzle;
  private final Int address;

  SharedTile(
      BodyEmitter emitter,
      Type element,
      int rows,
      int columns,
      int pitch,
      Swizzle swizzle,
      Int address) {
    this.emitter = emitter;
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

  /** Returns the size in bytes, padding included. */
  public int bytes() {
    return rows * pitch * element.bytes();
  }

  /** Loads an element. */
  public Value load(Int row, Int column) {
    return load(1, row, column).getFirst();
  }

  /**
   * Loads {@code count} consecutive elements of a row, at most 16 bytes, aligned to their total
   * size. Several single-byte elements are returned as 32-bit integers.
   */
  public List<Value> load(int count, Int row, Int column) {
    return new VectorAccess(element, count)
        .load(emitter, null, "ld.shared", at(row, column).address());
  }

  /** Loads like {@link #load(int, Int, Int)} where the condition holds; other threads get zeros. */
  public List<Value> loadWhere(Predicate condition, int count, Int row, Int column) {
    return new VectorAccess(element, count)
        .load(emitter, condition.register(), "ld.shared", at(row, column).address());
  }

  /** Stores an element. */
  public void store(Int row, Int column, Value value) {
    store(row, column, List.of(value));
  }

  /** Stores consecutive elements of a row, aligned to their total size. */
  public void store(Int row, Int column, List<? extends Value> values) {
    new VectorAccess(element, values.size())
        .store(emitter, null, "st.shared", at(row, column).address(), values);
  }

  /** Stores an element in threads where the condition holds. */
  public void storeWhere(Predicate condition, Int row, Int column, Value value) {
    storeWhere(condition, row, column, List.of(value));
  }

  /** Stores consecutive elements of a row in threads where the condition holds. */
  public void storeWhere(Predicate condition, Int row, Int column, List<? extends Value> values) {
    new VectorAccess(element, values.size())
        .store(emitter, condition.register(), "st.shared", at(row, column).address(), values);
  }

  /**
   * Copies elements from global memory asynchronously: see {@link KernelBuilder#commitCopies}. Only
   * the first {@code valid} bytes are read; the rest is filled with zeros.
   *
   * @param bytes 4, 8 or 16; both addresses must be multiples of it
   * @param valid from 0 to {@code bytes}
   */
  public void copyAsync(
      Int row, Int column, int bytes, GlobalPointer source, Int index, Int valid) {
    if (source.element() != element) {
      throw new IllegalArgumentException(
          "%s: cannot copy elements of .%s to a tile of .%s, since a copy does not convert; reinterpret the bits with as()"
              .formatted(BodyEmitter.here(), source.element().word(), element.word()));
    }
    emitter.emit(
        "cp.async.%s.shared.global".formatted(bytes == 16 ? "cg" : "ca"),
        at(row, column).address(),
        source.at(index),
        Immediate.of(bytes),
        valid.operand());
  }

  /**
   * Loads four 8x8 matrices of 16-bit elements with {@code ldmatrix}. Lane {@code 8m + r} gives the
   * address of row {@code r} of matrix {@code m}. Each lane receives two elements of each matrix,
   * in the layout {@code Fragments.MATRIX_8X8} or, transposed, {@code MATRIX_8X8_TRANSPOSED}.
   */
  public List<Value> loadMatrices(Int row, Int column, boolean transposed) {
    var values = new ArrayList<Value>();
    for (int i = 0; i < 4; i++) {
      values.add(new Value(emitter, Type.B32, emitter.register(Type.B32)));
    }
    emitter.emit(
        "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16".formatted(transposed ? ".trans" : ""),
        Value.vector(values),
        chunkAt(row, column).address());
    return values;
  }

  /** Returns a matrix at byte {@code offset} of this one, with rows {@code otherPitch} apart. */
  public SharedTile at(Int offset, Type type, int otherRows, int otherColumns, int otherPitch) {
    return new SharedTile(
        emitter, type, otherRows, otherColumns, otherPitch, Swizzle.NONE, address.plus(offset));
  }

  /** Returns a matrix at byte {@code offset}, swizzled by {@link Swizzle#of} its row length. */
  public SharedTile at(Int offset, Type type, int otherRows, int otherColumns) {
    return at(offset, type, otherRows, otherColumns, Swizzle.of(otherColumns * type.bytes()));
  }

  /** Returns a matrix at byte {@code offset} of this one with a given swizzle. */
  public SharedTile at(
      Int offset, Type type, int otherRows, int otherColumns, Swizzle otherSwizzle) {
    return new SharedTile(
        emitter, type, otherRows, otherColumns, otherColumns, otherSwizzle, address.plus(offset));
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

  /** Returns the address of the chunk that starts at a column. */
  private Int chunkAt(Int row, Int column) {
    return chunk(address.plus(row.times(pitch * element.bytes())), row, column);
  }

  private Int chunk(Int start, Int row, Int column) {
    int elements = Swizzle.CHUNK / element.bytes();
    // multiples of the period, or of a chunk, are computed at build time
    var inPeriod = new Int(emitter, row.base(), row.constant % swizzle.period());
    int whole = column.constant / elements;
    // the swizzle permutes chunks within this range; the rest is a plain offset
    int near = whole % ((swizzle.mask() + 1) * swizzle.run());
    var chunk = column.plus(-whole * elements).div(elements).plus(near);
    var step = inPeriod.div(swizzle.rowsPerStep()).rem(swizzle.mask() + 1);
    return start
        .plus(chunk.xor(step.times(swizzle.run())).times(Swizzle.CHUNK))
        .plus((whole - near) * Swizzle.CHUNK);
  }
}
