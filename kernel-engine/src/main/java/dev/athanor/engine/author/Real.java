package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.function.Supplier;

/** A number of type f32 or f64. Operations round to nearest even. */
public class Real extends Value {

  /** Captures the value that an operand has here. */
  Real(BodyEmitter emitter, Type type, Operand operand) {
    super(emitter, type, operand);
  }

  private Real(BodyEmitter emitter, Type type, Supplier<Register> register) {
    super(emitter, type, register);
  }

  /** A constant of f32 or f64. */
  static Real of(BodyEmitter emitter, Type type, double value) {
    requireReal(type);
    return new Real(
        emitter, type, type == Type.F32 ? Immediate.of((float) value) : Immediate.of(value));
  }

  static void requireReal(Type type) {
    if (type != Type.F32 && type != Type.F64) {
      throw new IllegalArgumentException(
          "a real number must be .f32 or .f64, got .%s; load smaller types and widen them"
              .formatted(type.word()));
    }
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

  /** Returns this times {@code b} plus {@code c}, rounded once. */
  public Real fma(Real b, Real c) {
    return result("fma.rn", operand(), b.operand(), c.operand());
  }

  public Real negate() {
    return result("neg", operand());
  }

  public Real abs() {
    return result("abs", operand());
  }

  /** Returns the maximum; a number wins over a NaN. */
  public Real max(Real b) {
    return binary("max", b);
  }

  /** Returns the minimum; a number wins over a NaN. */
  public Real min(Real b) {
    return binary("min", b);
  }

  /** Returns the square root, rounded to nearest even. */
  public Real sqrt() {
    return result("sqrt.rn", operand());
  }

  /** Returns the reciprocal square root of this f32, accurate to 2 ulp. */
  public Real rsqrt() {
    return result("rsqrt.approx", operand());
  }

  /** Returns the reciprocal, rounded to nearest even. */
  public Real reciprocal() {
    return result("rcp.rn", operand());
  }

  /** Returns the reciprocal of this f32, accurate to 1 ulp. */
  public Real reciprocalApproximate() {
    return result("rcp.approx", operand());
  }

  /** Returns the base-2 logarithm of this f32, with an absolute error of 2^-22 near 1. */
  public Real log2() {
    return result("lg2.approx", operand());
  }

  /** Returns the natural logarithm of this f32. */
  public Real log() {
    return log2().times(Math.log(2));
  }

  /** Returns 2 to the power of this f32, accurate to 2 ulp. */
  public Real exp2() {
    return result("ex2.approx", operand());
  }

  /**
   * Returns 2 to the power of this f32, accurate to 2 ulp; subnormal results become 0. That takes
   * one GPU instruction, {@link #exp2} four, which scale the argument and the result.
   */
  public Real exp2WithoutSubnormals() {
    return result("ex2.approx.ftz", operand());
  }

  /** Returns e to the power of this f32. */
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

  /** Returns whether this is a NaN. */
  public Predicate isNan() {
    return compare("nan", this);
  }

  /** Returns this rounded to nearest even, saturated to s32; a NaN becomes 0. */
  public Int round() {
    return new Int(emitter, emitter.result(Type.S32, "cvt.rni.s32." + type().word(), operand()), 0);
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

  /** Returns this where the condition holds, else {@code other}. */
  public Real where(Predicate condition, Real other) {
    return result("selp", operand(), other.operand(), condition.register());
  }

  /**
   * Converts this number, rounding to nearest even; tf32 rounds ties away from zero, the only mode
   * of that conversion.
   *
   * @param type f16, bf16, tf32, f32 or f64
   */
  public Value to(Type type) {
    if (type == type()) {
      return new Real(emitter, type, operand());
    }
    var rounding =
        switch (type) {
          case TF32 -> "rna.";
          case F64 -> "";
          default -> "rn.";
        };
    var converted =
        emitter.result(
            type, "cvt.%s%s.%s".formatted(rounding, type.word(), type().word()), operand());
    return type == Type.F32 || type == Type.F64
        ? new Real(emitter, type, converted)
        : new Value(emitter, type, converted);
  }

  /** Returns a constant of this number's type. */
  public Real constant(double value) {
    return of(emitter, type(), value);
  }

  private Real binary(String opcode, Real b) {
    return result(opcode, operand(), b.operand());
  }

  private Real result(String opcode, Operand... sources) {
    return new Real(emitter, type(), emitter.result(type(), opcode + "." + type().word(), sources));
  }

  private Predicate compare(String comparison, Real b) {
    return new Predicate(
        emitter,
        emitter.result(
            Type.PRED, "setp.%s.%s".formatted(comparison, type().word()), operand(), b.operand()));
  }

  /**
   * A mutable number, such as an accumulator. An operation reads the value that the variable has
   * where the operation is written; its result does not change when the variable does.
   */
  public static final class Variable extends Real {

    Variable(BodyEmitter emitter, Type type, Register register) {
      super(emitter, type, () -> register);
    }

    public void set(Real value) {
      emitter.emit("mov." + type().word(), operand(), value.operand());
    }

    public void add(Real value) {
      emitter.emit("add.rn." + type().word(), operand(), operand(), value.operand());
    }

    /** Adds a product, rounded once. */
    public void addProduct(Real a, Real b) {
      emitter.emit("fma.rn." + type().word(), operand(), a.operand(), b.operand(), operand());
    }
  }
}
