package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;

/**
 * A 64-bit integer: how many elements a tensor has, or how many lie between two of its rows or
 * matrices.
 */
public final class Wide {
  private final KernelBuilder k;
  private final Register register;

  Wide(KernelBuilder k, Register register) {
    this.k = k;
    this.register = register;
  }

  public Wide plus(Wide b) {
    return pure("add.s64", b);
  }

  public Wide minus(Wide b) {
    return pure("sub.s64", b);
  }

  public Wide times(Wide b) {
    return pure("mul.lo.s64", b);
  }

  public Wide times(Int b) {
    return times(b.wide());
  }

  public Wide times(int b) {
    return new Wide(k, k.pure(Type.S64, "mul.lo.s64", register, Immediate.of(b)));
  }

  /** This divided by {@code b}; neither may be negative. */
  public Wide div(Wide b) {
    return new Wide(k, k.pure(Type.U64, "div.u64", register, b.register));
  }

  /** What is left over by the division by {@code b}; neither may be negative. */
  public Wide rem(Wide b) {
    return new Wide(k, k.pure(Type.U64, "rem.u64", register, b.register));
  }

  public Wide min(Wide b) {
    return pure("min.s64", b);
  }

  public Wide max(Wide b) {
    return pure("max.s64", b);
  }

  public Predicate lt(Wide b) {
    return new Predicate(k, k.pure(Type.PRED, "setp.lt.s64", register, b.register));
  }

  public Predicate ne(Wide b) {
    return new Predicate(k, k.pure(Type.PRED, "setp.ne.s64", register, b.register));
  }

  public Predicate ge(Wide b) {
    return new Predicate(k, k.pure(Type.PRED, "setp.ge.s64", register, b.register));
  }

  /** This as a value that can be stored: s64. */
  public Value value() {
    return new Value(k, Type.S64, register);
  }

  /** The lower 32 bits: this number where it fits them. */
  public Int narrow() {
    return new Int(k, k.pure(Type.U32, "cvt.u32.u64", register), 0);
  }

  Register register() {
    return register;
  }

  private Wide pure(String opcode, Wide b) {
    return new Wide(k, k.pure(Type.S64, opcode, register, b.register));
  }
}
