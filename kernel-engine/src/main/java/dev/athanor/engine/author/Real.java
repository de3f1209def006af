package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Type;

/** A number of type f32 or f64. Every operation rounds to nearest even. */
public class Real extends Value {

  Real(KernelBuilder k, Type type, Operand operand) {
    super(k, type, operand);
  }

  public Real plus(Real b) {
    return binary("add.rn", b);
  }

  public Real plus(double b) {
    return plus(constant(b));
  }

  public Real minus(Real b) {
    return binary("sub.rn", b);
  }

  public Real times(Real b) {
    return binary("mul.rn", b);
  }

  public Real times(double b) {
    return times(constant(b));
  }

  public Real over(Real b) {
    return binary("div.rn", b);
  }

  /** This times {@code b} plus {@code c}, rounded once. */
  public Real fma(Real b, Real c) {
    return result("fma.rn", operand(), b.operand(), c.operand());
  }

  public Real negate() {
    return result("neg", operand());
  }

  public Real abs() {
    return result("abs", operand());
  }

  /** The greater number; a NaN loses to a number. */
  public Real max(Real b) {
    return binary("max", b);
  }

  /** 2 to the power of this f32, to 2 units in the last place. */
  public Real exp2() {
    return result("ex2.approx", operand());
  }

  /** e to the power of this f32. */
  public Real exp() {
    return times(1 / Math.log(2)).exp2();
  }

  public Predicate lt(double b) {
    return compare("lt", constant(b));
  }

  public Predicate gt(double b) {
    return compare("gt", constant(b));
  }

  /** This where the condition holds, else {@code other}. */
  public Real where(Predicate condition, Real other) {
    return result("selp", operand(), other.operand(), condition.register);
  }

  /** This number rounded to f16 or bf16, or itself where it has the type. */
  public Value to(Type type) {
    return type == type()
        ? this
        : new Value(
            k,
            type,
            k.result(type, "cvt.rn.%s.%s".formatted(type.word(), type().word()), operand()));
  }

  /** A constant of this number's type. */
  public Real constant(double value) {
    return k.real(type(), value);
  }

  private Real binary(String opcode, Real b) {
    return result(opcode, operand(), b.operand());
  }

  private Real result(String opcode, Operand... sources) {
    return new Real(k, type(), k.result(type(), opcode + "." + type().word(), sources));
  }

  private Predicate compare(String comparison, Real b) {
    return new Predicate(
        k,
        k.result(
            Type.PRED, "setp.%s.%s".formatted(comparison, type().word()), operand(), b.operand()));
  }

  /** A number that changes: an accumulator. */
  public static final class Variable extends Real {

    Variable(KernelBuilder k, Type type, Operand operand) {
      super(k, type, operand);
    }

    public void set(Real value) {
      k.emit("mov." + type().word(), operand(), value.operand());
    }

    /** Adds a product, rounded once. */
    public void addProduct(Real a, Real b) {
      k.emit("fma.rn." + type().word(), operand(), a.operand(), b.operand(), operand());
    }
  }
}
