package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.function.Supplier;

/** A number of type f32 or f64. Every operation rounds to nearest even. */
public class Real extends Value {

  /** The value that an operand has here. */
  Real(KernelBuilder k, Type type, Operand operand) {
    super(k, type, operand);
  }

  private Real(KernelBuilder k, Type type, Supplier<Register> register) {
    super(k, type, register);
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

  public Real minus(double b) {
    return minus(constant(b));
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

  /** The smaller number; a NaN loses to a number. */
  public Real min(Real b) {
    return binary("min", b);
  }

  /** The square root, rounded to nearest even. */
  public Real sqrt() {
    return result("sqrt.rn", operand());
  }

  /** 1 over the square root of this f32, to 2 units in the last place. */
  public Real rsqrt() {
    return result("rsqrt.approx", operand());
  }

  /** 1 over this, rounded to nearest even. */
  public Real reciprocal() {
    return result("rcp.rn", operand());
  }

  /** 1 over this f32, to 1 unit in the last place. */
  public Real reciprocalApproximate() {
    return result("rcp.approx", operand());
  }

  /** The logarithm of this f32 to base 2, to an absolute 2^-22 near 1. */
  public Real log2() {
    return result("lg2.approx", operand());
  }

  /** The natural logarithm of this f32. */
  public Real log() {
    return log2().times(Math.log(2));
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

  public Predicate lt(Real b) {
    return compare("lt", b);
  }

  public Predicate le(Real b) {
    return compare("le", b);
  }

  public Predicate gt(Real b) {
    return compare("gt", b);
  }

  public Predicate ge(Real b) {
    return compare("ge", b);
  }

  public Predicate eq(Real b) {
    return compare("eq", b);
  }

  public Predicate eq(double b) {
    return eq(constant(b));
  }

  /** Whether this is no number. */
  public Predicate isNan() {
    return compare("nan", this);
  }

  /** This rounded to an integer, to nearest even; s32 at its ends where it is beyond, NaN is 0. */
  public Int round() {
    return new Int(k, k.result(Type.S32, "cvt.rni.s32." + type().word(), operand()), 0);
  }

  @Override
  public Real fromLaneXor(int mask) {
    return (Real) super.fromLaneXor(mask);
  }

  @Override
  public Real fromLane(Int lane) {
    return (Real) super.fromLane(lane);
  }

  @Override
  public Real fromLaneBelow(int by) {
    return (Real) super.fromLaneBelow(by);
  }

  /** This where the condition holds, else {@code other}. */
  public Real where(Predicate condition, Real other) {
    return result("selp", operand(), other.operand(), condition.register);
  }

  /**
   * This number rounded to nearest even, or itself where it has the type. To tf32 ties go away from
   * zero, as that conversion has it.
   *
   * @param type f16, bf16, tf32, f32 or f64
   */
  public Value to(Type type) {
    if (type == type()) {
      return new Real(k, type, operand());
    }
    var rounding =
        switch (type) {
          case TF32 -> "rna.";
          case F64 -> "";
          default -> "rn.";
        };
    var converted =
        k.result(type, "cvt.%s%s.%s".formatted(rounding, type.word(), type().word()), operand());
    return type == Type.F32 || type == Type.F64
        ? new Real(k, type, converted)
        : new Value(k, type, converted);
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

  /**
   * A number that changes: an accumulator. Every operation reads what it holds where the operation
   * is written, so a value made of it stays as it is when the variable changes.
   */
  public static final class Variable extends Real {

    Variable(KernelBuilder k, Type type, Register register) {
      super(k, type, () -> register);
    }

    public void set(Real value) {
      k.emit("mov." + type().word(), operand(), value.operand());
    }

    public void add(Real value) {
      k.emit("add.rn." + type().word(), operand(), operand(), value.operand());
    }

    /** Adds a product, rounded once. */
    public void addProduct(Real a, Real b) {
      k.emit("fma.rn." + type().word(), operand(), a.operand(), b.operand(), operand());
    }
  }
}
