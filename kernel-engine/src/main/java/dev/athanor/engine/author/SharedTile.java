package dev.athanor.engine.author;

import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.layout.MatrixAccess;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A row-major matrix in shared memory, optionally swizzled. */
public final class SharedTile {

  /** Bytes of a row that {@code wgmma} reads. */
  public static final int ASYNC_ROW = 128;

  private final BodyEmitter emitter;
  private final Type element;
  private final int rows;
  private final int columns;
  private final int pitch;
  private final LinearLayout swizzle;
  private final Int start;

  /** Added last, since in a loop over stages it is all of an address that changes. */
  private final Int offset;

  SharedTile(
      BodyEmitter emitter,
      Type element,
      int rows,
      int columns,
      int pitch,
      LinearLayout swizzle,
      Int start,
      Int offset) {
    this.emitter = emitter;
    this.element = element;
    this.rows = rows;
    this.columns = columns;
    this.pitch = pitch;
    this.swizzle = swizzle;
    this.start = start;
    this.offset = offset;
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
    copyAsync(row, column, bytes, source, index, valid.operand());
  }

  /**
   * Copies elements from global memory asynchronously where the condition holds: see {@link
   * KernelBuilder#commitCopies}. Other threads do not read and write zeros.
   *
   * @param bytes 4, 8 or 16; both addresses must be multiples of it
   */
  public void copyAsyncWhere(
      Predicate condition, Int row, Int column, int bytes, GlobalPointer source, Int index) {
    copyAsync(row, column, bytes, source, index, condition.not().register());
  }

  /**
   * Emits a copy.
   *
   * @param limit the number of bytes to read, or a predicate for reading none
   */
  private void copyAsync(
      Int row, Int column, int bytes, GlobalPointer source, Int index, Operand limit) {
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
        limit);
  }

  /**
   * Loads the fragment of a warp with {@code ldmatrix}. All lanes must participate.
   *
   * @param fragment one, two or four matrices of eight rows of 16 bytes, transposed or not: from
   *     the elements of lanes to rows and columns of this tile
   * @param lane the number of the lane in its warp
   * @param row the first
   * @param column the first, at a multiple of 16 bytes
   * @return a register for each matrix
   * @throws IllegalArgumentException if the fragment does not consist of so many matrices
   */
  public List<Value> loadFragment(LinearLayout fragment, Int lane, Int row, Int column) {
    var access = MatrixAccess.of(fragment, element.bytes());
    var values = new ArrayList<Value>();
    for (int i = 0; i < access.count(); i++) {
      values.add(new Value(emitter, Type.B32, emitter.register(Type.B32)));
    }
    emitter.emit(
        "ldmatrix.sync.aligned.m8n8" + form(access),
        Value.vector(values),
        address(access, lane, row, column));
    return values;
  }

  /**
   * Stores the fragment of a warp with {@code stmatrix}, the inverse of {@link #loadFragment}.
   *
   * @param values a register for each matrix
   */
  public void storeFragment(
      LinearLayout fragment, Int lane, Int row, Int column, List<? extends Value> values) {
    var access = MatrixAccess.of(fragment, element.bytes());
    emitter.emit(
        "stmatrix.sync.aligned.m8n8" + form(access),
        address(access, lane, row, column),
        Value.vector(values));
  }

  private static String form(MatrixAccess access) {
    return ".x%d%s.shared.b16".formatted(access.count(), access.transposed() ? ".trans" : "");
  }

  private Operand address(MatrixAccess access, Int lane, Int row, Int column) {
    var at = new LaneCoordinates(access.rows(), lane);
    return chunkAt(at.row().plus(row), at.column().plus(column)).address();
  }

  /**
   * Loads a factor of f16 for {@link KernelBuilder#multiply}. Its first element must be aligned to
   * 32 bytes, and rows to 16 bytes. All lanes of the warp must participate.
   *
   * @param transposed whether the rows of this tile are the columns of the factor
   */
  public OpaqueMatrix.Factor load(OpaqueMatrix.Side side, Int row, Int column, boolean transposed) {
    requirePlain(Type.F16, "loads");
    var factor = OpaqueMatrix.Factor.of(emitter, side, transposed);
    emitter.emit(
        "wmma.load.%s.sync.aligned.%s.%s.shared.f16"
            .formatted(side.name().toLowerCase(Locale.ROOT), factor.layout(), OpaqueMatrix.SHAPE),
        factor.registers(),
        at(row, column).address(),
        Immediate.of(pitch));
    return factor;
  }

  /**
   * Stores a sum of f32. Its first element must be aligned to 32 bytes, and rows to 16 bytes. All
   * lanes of the warp must participate.
   */
  public void store(Int row, Int column, OpaqueMatrix.Sum sum) {
    requirePlain(Type.F32, "stores");
    emitter.emit(
        "wmma.store.d.sync.aligned.row.%s.shared.f32".formatted(OpaqueMatrix.SHAPE),
        at(row, column).address(),
        sum.registers(),
        Immediate.of(pitch));
  }

  private void requirePlain(Type type, String verb) {
    if (element != type || !swizzle.equals(Swizzle.NONE)) {
      throw new IllegalArgumentException(
          "%s: wmma %s a tile of .%s that is not swizzled, got a%s tile of .%s"
              .formatted(
                  BodyEmitter.here(),
                  verb,
                  type.word(),
                  swizzle.equals(Swizzle.NONE) ? "" : " swizzled",
                  element.word()));
    }
  }

  /** Returns a matrix like this one at byte {@code offset} of it, such as another stage. */
  public SharedTile at(Int offset) {
    return new SharedTile(
        emitter, element, rows, columns, pitch, swizzle, start, this.offset.plus(offset));
  }

  /**
   * Returns the matrix that begins at an element of this one, which must not be swizzled. The
   * address is computed here, once for all accesses at constant places.
   */
  public SharedTile from(Int row, Int column) {
    if (!swizzle.equals(Swizzle.NONE)) {
      throw new IllegalArgumentException(
          "%s: a part of a swizzled matrix is not a matrix".formatted(BodyEmitter.here()));
    }
    return new SharedTile(
        emitter, element, rows, columns, pitch, swizzle, at(row, column), Int.of(emitter, 0));
  }

  /** Returns a matrix at byte {@code offset} of this one, with rows {@code otherPitch} apart. */
  public SharedTile at(Int offset, Type type, int otherRows, int otherColumns, int otherPitch) {
    return new SharedTile(
        emitter,
        type,
        otherRows,
        otherColumns,
        otherPitch,
        Swizzle.NONE,
        start,
        this.offset.plus(offset));
  }

  /** Returns a matrix at byte {@code offset}, swizzled by {@link Swizzle#of} its row length. */
  public SharedTile at(Int offset, Type type, int otherRows, int otherColumns) {
    return at(offset, type, otherRows, otherColumns, Swizzle.of(otherColumns * type.bytes()));
  }

  /** Returns a matrix at byte {@code offset} of this one with a given swizzle. */
  public SharedTile at(
      Int offset, Type type, int otherRows, int otherColumns, LinearLayout otherSwizzle) {
    return new SharedTile(
        emitter,
        type,
        otherRows,
        otherColumns,
        otherColumns,
        otherSwizzle,
        start,
        this.offset.plus(offset));
  }

  /**
   * Returns the descriptor with which {@link KernelBuilder#multiplyAsync} reads this matrix (PTX
   * ISA 9.7.15.5.1). Its rows are {@link #ASYNC_ROW} bytes long, and its first byte is aligned to 8
   * of them, or a multiple of 32 bytes further in a row.
   *
   * @param panelBytes distance between the panels of a matrix that is wider than a row; 0 for
   *     others
   */
  public Wide descriptor(int panelBytes) {
    if (columns * element.bytes() != ASYNC_ROW || !swizzle.equals(Swizzle.of(ASYNC_ROW))) {
      throw new IllegalArgumentException(
          "%s: wgmma reads swizzled rows of %d bytes, got %d columns of .%s"
              .formatted(BodyEmitter.here(), ASYNC_ROW, columns, element.word()));
    }
    long fixed =
        (long) Swizzle.BY_DESCRIPTOR.indexOf(swizzle) << 62
            | ((long) swizzle.inputs().size() / Swizzle.CHUNK) << 32
            | ((long) panelBytes / Swizzle.CHUNK) << 16;
    var first = first().div(Swizzle.CHUNK).wide();
    return first.plus(
        new Wide(emitter, emitter.pure(Type.S64, "mov.s64", new Immediate(Type.S64, fixed))));
  }

  /** Returns the address of the first element. */
  Int first() {
    return start.plus(offset);
  }

  private Int at(Int row, Int column) {
    if (swizzle.equals(Swizzle.NONE)) {
      return rowStart(row).plus(column.times(element.bytes())).plus(offset);
    }
    int elements = Swizzle.CHUNK / element.bytes();
    var inChunk = column.plus(-(column.constant / elements * elements)).rem(elements);
    return rowStart(row).plus(chunk(row, column)).plus(inChunk.times(element.bytes())).plus(offset);
  }

  /** Returns the address of the chunk that starts at a column. */
  private Int chunkAt(Int row, Int column) {
    return rowStart(row).plus(chunk(row, column)).plus(offset);
  }

  private Int rowStart(Int row) {
    return start.plus(row.times(pitch * element.bytes()));
  }

  /** Returns the position of a column's chunk in a row, in bytes. */
  private Int chunk(Int row, Int column) {
    int elements = Swizzle.CHUNK / element.bytes();
    // multiples of the period, or of a chunk, are computed at build time
    int period = swizzle.inputs().extent(Axis.ROW);
    var inPeriod = new Int(emitter, row.base(), row.constant % period);
    int whole = column.constant / elements;
    // the swizzle permutes chunks within this range; the rest is a plain offset
    int near = whole % (swizzle.inputs().extent(Axis.BYTE) / Swizzle.CHUNK);
    var chunk = column.plus(-whole * elements).div(elements).plus(near);
    var bases = swizzle.bases(Axis.ROW, Axis.BYTE);
    int alike = (int) bases.stream().takeWhile(basis -> basis == 0).count();
    var moved =
        LaneCoordinates.image(
            bases.subList(alike, bases.size()),
            inPeriod.div(1 << alike),
            Integer.MAX_VALUE,
            Swizzle.CHUNK);
    return chunk.xor(moved).times(Swizzle.CHUNK).plus((whole - near) * Swizzle.CHUNK);
  }
}
