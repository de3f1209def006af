package dev.athanor.engine.lift.simplify;

import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import org.jspecify.annotations.Nullable;

/** Computes operations on literals, with the semantics of Java, which the device has too. */
final class ConstantFolder {

  private ConstantFolder() {}

  /** Returns the literal that a value equals; null if an input is no literal. */
  static @Nullable Value fold(Value value) {
    if (value.inputs().isEmpty() || !value.inputs().stream().allMatch(v -> v.is(Op.CONSTANT))) {
      return null;
    }
    var result =
        switch (value.op()) {
          case COMPARE -> compare(value);
          case THREE_WAY -> threeWay(value);
          case CONVERT -> convert(number(value, 0), value.type());
          case NARROW -> narrow(number(value, 0).intValue(), value.attribute(Element.class));
          case BITCAST -> bits(number(value, 0), value.type());
          case SELECT ->
              value.input(value.input(0).isConstant(true) ? 1 : 2).attribute(Object.class);
          case LOAD, STORE, CHECK, CALL, ADDRESS, CONSTANT, PHI, ARGUMENT, SPECIAL, ARRAY -> null;
          default ->
              switch (value.type()) {
                case INT, LONG -> converted(integers(value), value.type());
                case FLOAT, DOUBLE -> converted(reals(value), value.type());
                case BOOL -> booleans(value);
                case VOID -> null;
              };
        };
    return result == null ? null : Value.constant(value.type(), result);
  }

  private static Number number(Value value, int input) {
    return value.input(input).attribute(Number.class);
  }

  private static boolean compare(Value value) {
    var relation = value.attribute(Relation.class);
    if (value.input(0).type() == ValueType.BOOL) {
      boolean same = value.input(0).isConstant(value.input(1).attribute(Boolean.class));
      return (relation == Relation.EQ) == same;
    }
    var a = number(value, 0);
    var b = number(value, 1);
    return switch (value.input(0).type()) {
      case FLOAT, DOUBLE -> relation.holds(a.doubleValue(), b.doubleValue());
      case INT ->
          (relation == Relation.LO || relation == Relation.HS)
              ? relation.holds(a.intValue() & 0xFFFF_FFFFL, b.intValue() & 0xFFFF_FFFFL)
              : relation.holds(a.longValue(), b.longValue());
      default -> relation.holds(a.longValue(), b.longValue());
    };
  }

  private static int threeWay(Value value) {
    var a = number(value, 0);
    var b = number(value, 1);
    if (value.input(0).type() == ValueType.LONG) {
      return Long.compare(a.longValue(), b.longValue());
    }
    double x = a.doubleValue();
    double y = b.doubleValue();
    return Double.isNaN(x) || Double.isNaN(y)
        ? value.attribute(Integer.class)
        : x < y ? -1 : x > y ? 1 : 0;
  }

  private static @Nullable Object converted(@Nullable Number result, ValueType to) {
    return result == null ? null : convert(result, to);
  }

  private static Object convert(Number from, ValueType to) {
    return switch (to) {
      case INT ->
          from instanceof Float || from instanceof Double
              ? (int) from.doubleValue()
              : from.intValue();
      case LONG ->
          from instanceof Float || from instanceof Double
              ? (long) from.doubleValue()
              : from.longValue();
      case FLOAT -> from.floatValue();
      case DOUBLE -> from.doubleValue();
      case BOOL, VOID -> throw new IllegalArgumentException("no conversion to " + to);
    };
  }

  private static int narrow(int value, Element to) {
    return switch (to) {
      case BYTE, BOOLEAN -> (byte) value;
      case SHORT -> (short) value;
      case CHAR -> (char) value;
      default -> value;
    };
  }

  private static Object bits(Number from, ValueType to) {
    return switch (to) {
      case INT -> Float.floatToRawIntBits(from.floatValue());
      case LONG -> Double.doubleToRawLongBits(from.doubleValue());
      case FLOAT -> Float.intBitsToFloat(from.intValue());
      case DOUBLE -> Double.longBitsToDouble(from.longValue());
      case BOOL, VOID -> throw new IllegalArgumentException("no bits as " + to);
    };
  }

  /**
   * Computes an operation on integers. The low 32 bits of a result of 64 are that of ints, but for
   * the distance of a shift and what it shifts in.
   */
  private static @Nullable Long integers(Value value) {
    boolean isInt = value.type() == ValueType.INT;
    long a = number(value, 0).longValue();
    long b = value.inputs().size() > 1 ? number(value, 1).longValue() : 0;
    long distance = isInt ? b & 31 : b;
    return switch (value.op()) {
      case ADD -> a + b;
      case SUB -> a - b;
      case MUL -> a * b;
      case DIV -> b == 0 ? null : (Long) (a / b);
      case REM -> b == 0 ? null : (Long) (a % b);
      case NEG -> -a;
      case AND -> a & b;
      case OR -> a | b;
      case XOR -> a ^ b;
      case SHL -> a << distance;
      case SHR -> a >> distance;
      case USHR -> (isInt ? a & 0xFFFF_FFFFL : a) >>> distance;
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      case ABS -> Math.abs(a);
      default -> null;
    };
  }

  /**
   * Computes an operation on doubles. Rounding its result to float gives that of floats, since a
   * double has more than twice the bits (Figueroa, "When is double rounding innocuous?", 1995);
   * {@code fma} has three operands, and is computed in float.
   */
  private static @Nullable Double reals(Value value) {
    double a = number(value, 0).doubleValue();
    double b = value.inputs().size() > 1 ? number(value, 1).doubleValue() : 0;
    return switch (value.op()) {
      case ADD -> a + b;
      case SUB -> a - b;
      case MUL -> a * b;
      case DIV -> a / b;
      case NEG -> -a;
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      case ABS -> Math.abs(a);
      case FMA ->
          value.type() == ValueType.FLOAT
              ? (Double) (double) Math.fma((float) a, (float) b, number(value, 2).floatValue())
              : (Double) Math.fma(a, b, number(value, 2).doubleValue());
      case SQRT -> Math.sqrt(a);
      case FLOOR -> Math.floor(a);
      case CEIL -> Math.ceil(a);
      case RINT -> Math.rint(a);
      default -> null;
    };
  }

  private static @Nullable Object booleans(Value value) {
    boolean a = value.input(0).isConstant(true);
    boolean b = value.inputs().size() > 1 && value.input(1).isConstant(true);
    return switch (value.op()) {
      case AND -> a && b;
      case OR -> a || b;
      case XOR -> a ^ b;
      default -> null;
    };
  }
}
