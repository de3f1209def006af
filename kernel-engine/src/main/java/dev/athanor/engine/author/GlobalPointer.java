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

  /** Where row {@code row} begins, whose rows are {@code leadingDimension} elements apart. */
  public GlobalPointer row(Int row, Int leadingDimension) {
    return advance(k.pure(Type.S64, "mul.wide.s32", row.register(), leadingDimension.operand()));
  }

  /** Where matrix {@code index} begins, whose matrices are {@code stride} elements apart. */
  public GlobalPointer matrix(Int index, Stride stride) {
    return advance(stride.times(index));
  }

  private GlobalPointer advance(Register elements) {
    int shift = Integer.numberOfTrailingZeros(element.bytes());
    var bytes = k.pure(Type.B64, "shl.b64", elements, Immediate.of(shift));
    return new GlobalPointer(k, element, k.pure(Type.S64, "add.s64", address, bytes));
  }

  /** Element {@code index}. */
  public Value load(Int index) {
    return new Value(k, element, k.result(element, "ld.global." + memoryType(), at(index)));
  }

  /**
   * Element {@code index} where the condition holds, else zero; memory is touched only where it
   * holds.
   */
  public Value loadWhere(Predicate condition, Int index) {
    var d = k.register(element);
    k.emit("mov." + memoryType(), d, zero());
    k.emit(condition, "ld.global." + memoryType(), d, at(index));
    return new Value(k, element, d);
  }

  /** Writes element {@code index} where the condition holds. */
  public void storeWhere(Predicate condition, Int index, Value value) {
    k.emit(condition, "st.global." + memoryType(), at(index), value.operand());
  }

  /**
   * Writes consecutive elements from {@code index} on, which must be aligned to them all, where the
   * condition holds.
   */
  public void storeWhere(Predicate condition, Int index, List<? extends Value> values) {
    k.emit(
        condition,
        "st.global.v" + values.size() + "." + memoryType(),
        at(index),
        KernelBuilder.vector(values));
  }

  Operand.Address at(Int index) {
    long offset = (long) index.constant * element.bytes();
    return new Operand.Address(
        index.base == null
            ? address
            : k.pure(Type.S64, "mad.wide.s32", index.base, Immediate.of(element.bytes()), address),
        offset);
  }

  /** How loads and stores name the type: those of 16 bits know bits only. */
  private String memoryType() {
    return element.bits() == 16 ? "b16" : element.word();
  }

  private Immediate zero() {
    return switch (element) {
      case F32 -> Immediate.of(0f);
      case F64 -> Immediate.of(0.0);
      default -> Immediate.of(0);
    };
  }
}
