package dev.athanor.engine.lift.simplify;

import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules for integer arithmetic, which wraps. */
final class IntegerRules {

  private IntegerRules() {}

  static @Nullable Value simplify(Value value) {
    var a = value.input(0);
    var b = value.input(1);
    if (value.op().isCommutative() && a.is(Op.CONSTANT)) {
      return simpler(value, value.op(), b, a);
    }
    if (!b.is(Op.CONSTANT)) {
      return a == b ? same(value) : maskedShift(value);
    }
    long n = b.integer();
    return switch (value.op()) {
      case ADD -> n == 0 ? a : associated(value);
      case SUB -> n == 0 ? a : simpler(value, Op.ADD, a, literal(value.type(), -n));
      case MUL -> product(value, a, n);
      case DIV, REM -> quotient(value, a, n);
      case AND -> n == 0 ? b : n == -1 ? a : mask(a, n);
      case OR -> n == 0 ? a : n == -1 ? b : null;
      case XOR -> n == 0 ? a : null;
      case SHL, SHR, USHR -> n == 0 ? a : null;
      default -> null;
    };
  }

  private static Value simpler(Value value, Op op, Value a, Value b) {
    return new Value(op, value.type(), List.of(a, b), null, value.source());
  }

  private static Value literal(ValueType type, long n) {
    return type == ValueType.LONG ? Value.constant(n) : Value.constant((int) n);
  }

  private static @Nullable Value same(Value value) {
    return switch (value.op()) {
      case AND, OR -> value.input(0);
      case SUB, XOR -> literal(value.type(), 0);
      default -> null;
    };
  }

  /** {@code x << (n & 31)} is {@code x << n}. */
  private static @Nullable Value maskedShift(Value value) {
    boolean isShift =
        switch (value.op()) {
          case SHL, SHR, USHR -> true;
          default -> false;
        };
    var b = value.input(1);
    return isShift && b.is(Op.AND) && b.input(1).isConstant(value.type().bits() - 1)
        ? simpler(value, value.op(), value.input(0), b.input(0))
        : null;
  }

  /** {@code (x + m) + n} is {@code x + (m + n)}. */
  private static @Nullable Value associated(Value value) {
    var a = value.input(0);
    return a.is(Op.ADD) && a.input(1).is(Op.CONSTANT)
        ? simpler(
            value,
            Op.ADD,
            a.input(0),
            literal(value.type(), a.input(1).integer() + value.input(1).integer()))
        : null;
  }

  private static @Nullable Value product(Value value, Value a, long n) {
    if (n == 0) {
      return value.input(1);
    }
    if (n == 1) {
      return a;
    }
    return Long.bitCount(n) == 1 && n > 0
        ? simpler(value, Op.SHL, a, Value.constant(Long.numberOfTrailingZeros(n)))
        : null;
  }

  /** A non-negative number is divided by a power of two by a shift. */
  private static @Nullable Value quotient(Value value, Value a, long n) {
    if (n == 1) {
      return value.is(Op.DIV) ? a : literal(value.type(), 0);
    }
    if (n <= 0 || Long.bitCount(n) != 1 || !Range.of(a).isNonNegative()) {
      return null;
    }
    return value.is(Op.DIV)
        ? simpler(value, Op.SHR, a, Value.constant(Long.numberOfTrailingZeros(n)))
        : simpler(value, Op.AND, a, literal(value.type(), n - 1));
  }

  /** A mask of low bits that the operand does not exceed. */
  private static @Nullable Value mask(Value a, long n) {
    var range = Range.of(a);
    return n > 0 && Long.bitCount(n + 1) == 1 && range.isNonNegative() && range.most() <= n
        ? a
        : a.is(Op.SELECT) && n == 1 && isBit(a) ? a : null;
  }

  private static boolean isBit(Value value) {
    var range = Range.of(value);
    return range.least() >= 0 && range.most() <= 1;
  }
}
