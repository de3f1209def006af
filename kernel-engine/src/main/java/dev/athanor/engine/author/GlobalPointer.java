package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** The address of elements of one type in global memory. */
public final class GlobalPointer {
  private final KernelBuilder k;
  private final Type element;
  private final Register address;

  GlobalPointer(KernelBuilder k, Type element, Register address) {
    this.k = k;
    this.element = element;
    this.address = address;
  }

  public Type element() {
    return element;
  }

  /** The same address, of elements of another type. */
  public GlobalPointer as(Type other) {
    return new GlobalPointer(k, other, address);
  }

  /** Where row {@code row} begins, whose rows are {@code leadingDimension} elements apart. */
  public GlobalPointer row(Int row, Int leadingDimension) {
    return advance(k.pure(Type.S64, "mul.wide.s32", row.register(), leadingDimension.operand()));
  }

  /** Where matrix {@code index} begins, whose matrices are {@code stride} elements apart. */
  public GlobalPointer matrix(Int index, Wide stride) {
    return plus(stride.times(index));
  }

  /** The address of the element that is so many further. */
  public GlobalPointer plus(Wide elements) {
    return advance(elements.register());
  }

  /** This address where the condition holds, else {@code other}. */
  public GlobalPointer where(Predicate condition, GlobalPointer other) {
    return new GlobalPointer(
        k, element, k.pure(Type.B64, "selp.b64", address, other.address, condition.register));
  }

  private GlobalPointer advance(Register elements) {
    int shift = Integer.numberOfTrailingZeros(element.bytes());
    var bytes = shift == 0 ? elements : k.pure(Type.B64, "shl.b64", elements, Immediate.of(shift));
    return new GlobalPointer(k, element, k.pure(Type.S64, "add.s64", address, bytes));
  }

  /** Element {@code index}. */
  public Value load(Int index) {
    return load(1, index).getFirst();
  }

  /**
   * Consecutive elements from {@code index} on, which must be aligned to them all; at most 16
   * bytes. Elements of a byte come as 32-bit integers when there are several.
   */
  public List<Value> load(int count, Int index) {
    return access(count).load(k, null, "ld.global", at(index));
  }

  /**
   * Element {@code index} where the condition holds, else zero; memory is touched only where it
   * holds.
   */
  public Value loadWhere(Predicate condition, Int index) {
    return loadWhere(condition, 1, index).getFirst();
  }

  /** {@link #load(int, Int)} where the condition holds, else zeros. */
  public List<Value> loadWhere(Predicate condition, int count, Int index) {
    return access(count).load(k, condition, "ld.global", at(index));
  }

  /** Writes element {@code index}. */
  public void store(Int index, Value value) {
    store(index, List.of(value));
  }

  /** Writes consecutive elements from {@code index} on, which must be aligned to them all. */
  public void store(Int index, List<? extends Value> values) {
    access(values.size()).store(k, null, "st.global", at(index), values);
  }

  /** Writes element {@code index} where the condition holds. */
  public void storeWhere(Predicate condition, Int index, Value value) {
    storeWhere(condition, index, List.of(value));
  }

  /**
   * Writes consecutive elements from {@code index} on, which must be aligned to them all, where the
   * condition holds.
   */
  public void storeWhere(Predicate condition, Int index, List<? extends Value> values) {
    access(values.size()).store(k, condition, "st.global", at(index), values);
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
            : k.pure(Type.S64, "mad.wide.s32", base, Immediate.of(element.bytes()), address),
        offset);
  }
}
