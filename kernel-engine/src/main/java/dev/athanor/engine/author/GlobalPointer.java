package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** A pointer to elements of one type in global memory. */
public final class GlobalPointer {
  private final BodyEmitter emitter;
  private final Type element;
  private final Register address;
  private final boolean readOnly;

  GlobalPointer(BodyEmitter emitter, Type element, Register address, boolean readOnly) {
    this.emitter = emitter;
    this.element = element;
    this.address = address;
    this.readOnly = readOnly;
  }

  public Type element() {
    return element;
  }

  /** Returns the same address as a pointer to elements of another type. */
  public GlobalPointer as(Type other) {
    return new GlobalPointer(emitter, other, address, readOnly);
  }

  /** Returns the start of a row; consecutive rows are {@code leadingDimension} elements apart. */
  public GlobalPointer row(Int row, Int leadingDimension) {
    return advance(
        emitter.pure(Type.S64, "mul.wide.s32", row.register(), leadingDimension.operand()));
  }

  /** Returns the start of a matrix; consecutive matrices are {@code stride} elements apart. */
  public GlobalPointer matrix(Int index, Wide stride) {
    return plus(stride.times(index));
  }

  /** Returns this address advanced by a number of elements. */
  public GlobalPointer plus(Wide elements) {
    return advance(elements.register());
  }

  /** Returns this address in threads where the condition holds, {@code other} elsewhere. */
  public GlobalPointer where(Predicate condition, GlobalPointer other) {
    return new GlobalPointer(
        emitter,
        element,
        emitter.pure(Type.B64, "selp.b64", address, other.address, condition.register()),
        readOnly && other.readOnly);
  }

  private GlobalPointer advance(Register elements) {
    int shift = Integer.numberOfTrailingZeros(element.bytes());
    var bytes =
        shift == 0 ? elements : emitter.pure(Type.B64, "shl.b64", elements, Immediate.of(shift));
    return new GlobalPointer(
        emitter, element, emitter.pure(Type.S64, "add.s64", address, bytes), readOnly);
  }

  /** Loads element {@code index}. */
  public Value load(Int index) {
    return load(1, index).getFirst();
  }

  /**
   * Loads {@code count} consecutive elements, at most 16 bytes, aligned to their total size.
   * Several single-byte elements are returned as 32-bit integers.
   */
  public List<Value> load(int count, Int index) {
    return access(count).load(emitter, null, loadOpcode(), at(index));
  }

  /**
   * Loads element {@code index} in threads where the condition holds; the others do not access
   * memory and get zero.
   */
  public Value loadWhere(Predicate condition, Int index) {
    return loadWhere(condition, 1, index).getFirst();
  }

  /** Loads consecutive elements in threads where the condition holds; the others get zeros. */
  public List<Value> loadWhere(Predicate condition, int count, Int index) {
    return access(count).load(emitter, condition.register(), loadOpcode(), at(index));
  }

  /** Stores element {@code index}. */
  public void store(Int index, Value value) {
    store(index, List.of(value));
  }

  /** Stores consecutive elements, aligned to their total size. */
  public void store(Int index, List<? extends Value> values) {
    requireWritable();
    access(values.size()).store(emitter, null, "st.global", at(index), values);
  }

  /** Stores element {@code index} in threads where the condition holds. */
  public void storeWhere(Predicate condition, Int index, Value value) {
    storeWhere(condition, index, List.of(value));
  }

  /** Stores consecutive elements, aligned to their total size, where the condition holds. */
  public void storeWhere(Predicate condition, Int index, List<? extends Value> values) {
    requireWritable();
    access(values.size()).store(emitter, condition.register(), "st.global", at(index), values);
  }

  private String loadOpcode() {
    return readOnly ? "ld.global.nc" : "ld.global";
  }

  private void requireWritable() {
    if (readOnly) {
      throw new IllegalStateException(
          BodyEmitter.here()
              + ": cannot store through an input, which is read-only; declare it with pointer()");
    }
  }

  private VectorAccess access(int count) {
    return new VectorAccess(element, count);
  }

  Operand.Address at(Int index) {
    long offset = (long) index.constant * element.bytes();
    var base = index.base();
    return new Operand.Address(
        base == null
            ? address
            : emitter.pure(Type.S64, "mad.wide.s32", base, Immediate.of(element.bytes()), address),
        offset);
  }
}
