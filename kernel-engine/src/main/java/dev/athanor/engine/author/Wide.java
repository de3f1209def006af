package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;

/** A 64-bit integer, such as a tensor's number of elements or the stride of its matrices. */
public final class Wide {
  private final BodyEmitter emitter;
  private final Register register;

  Wide(BodyEmitter emitter, Register register) {
    this.emitter = emitter;
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
    return new Wide(emitter, emitter.pure(Type.S64, "mul.lo.s64", register, Immediate.of(b)));
  }

  /** Returns the quotient; neither operand may be negative. */
  public Wide div(Wide b) {
    return new Wide(emitter, emitter.pure(Type.U64, "div.u64", register, b.register));
  }

  /** Returns the remainder; neither operand may be negative. */
  public Wide rem(Wide b) {
    return new Wide(emitter, emitter.pure(Type.U64, "rem.u64", register, b.register));
  }

  public Wide min(Wide b) {
    return pure("min.s64", b);
  }

  public Wide max(Wide b) {
    return pure("max.s64", b);
  }

  public Predicate lt(Wide b) {
    return new Predicate(emitter, emitter.pure(Type.PRED, "setp.lt.s64", register, b.register));
  }

  public Predicate ne(Wide b) {
    return new Predicate(emitter, emitter.pure(Type.PRED, "setp.ne.s64", register, b.register));
  }

  public Predicate ge(Wide b) {
    return new Predicate(emitter, emitter.pure(Type.PRED, "setp.ge.s64", register, b.register));
  }

  /** Returns this where the condition holds, else {@code other}. */
  public Wide where(Predicate condition, Wide other) {
    return new Wide(
        emitter,
        emitter.pure(Type.S64, "selp.s64", register, other.register, condition.register()));
  }

  /** Returns this as a value of s64, which can be stored. */
  public Value value() {
    return new Value(emitter, Type.S64, register);
  }

  /** Returns the low 32 bits: the number itself if it fits. */
  public Int narrow() {
    return new Int(emitter, emitter.pure(Type.U32, "cvt.u32.u64", register), 0);
  }

  Register register() {
    return register;
  }

  private Wide pure(String opcode, Wide b) {
    return new Wide(emitter, emitter.pure(Type.S64, opcode, register, b.register));
  }
}
