package dev.athanor.ops.expression;

import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import dev.athanor.ops.map.Conversion;
import dev.athanor.ops.map.Rounding;
import java.util.ArrayList;
import java.util.List;

/** Evaluates expressions on the host: floats in float64, integers exactly. */
final class Evaluator {

  private Evaluator() {}

  /** Returns the result of a program, converted to its output. */
  static ScalarValue evaluate(
      Program program, List<ScalarValue> literals, List<ScalarValue> inputs) {
    var values = new ArrayList<ScalarValue>();
    for (var each : program.code()) {
      values.add(
          switch (each.function()) {
            case INPUT -> inputs.get(each.index());
            case LITERAL -> literals.get(each.index());
            case CAST -> {
              var value = values.get(each.operands().getFirst());
              boolean widens = each.dtype().isFloat() && !isHalf(each.dtype());
              yield widens ? ScalarValue.of(value.toReal()) : cast(each.dtype(), value);
            }
            default ->
                apply(
                    each.function(),
                    each.computed(),
                    each.operands().stream().map(values::get).toList());
          });
    }
    var result = values.getLast();
    boolean rounds = program.output().isFloat() && result.isReal();
    return rounds ? result : cast(program.output(), result);
  }

  private static boolean isHalf(DType dtype) {
    return dtype == DType.F16 || dtype == DType.BF16;
  }

  /** Converts a number as the op {@code cast} does. */
  static ScalarValue cast(DType dtype, ScalarValue value) {
    var usual = Conversion.usual(dtype);
    if (dtype.isFloat()) {
      return ScalarValue.of(
          value.isReal()
              ? Rounding.round(dtype, value.real(), usual)
              : Rounding.round(dtype, value.whole(), usual));
    }
    if (dtype == DType.BOOL) {
      return ScalarValue.of(value.isTrue());
    }
    if (!value.isReal()) {
      return ScalarValue.of(
          Math.clamp(value.whole(), Rounding.least(dtype), Rounding.greatest(dtype)));
    }
    // a conversion of Java saturates, and a NaN becomes 0
    return ScalarValue.of(
        Math.clamp((long) value.real(), Rounding.least(dtype), Rounding.greatest(dtype)));
  }

  /**
   * Applies a function.
   *
   * @param dtype the common dtype of the operands
   */
  static ScalarValue apply(Function function, DType dtype, List<ScalarValue> operands) {
    if (function == Function.WHERE) {
      return operands.get(operands.getFirst().isTrue() ? 1 : 2);
    }
    if (dtype.isFloat()) {
      var x = operands.stream().mapToDouble(ScalarValue::toReal).toArray();
      return real(function, dtype, x);
    }
    var x = operands.stream().mapToLong(ScalarValue::whole).toArray();
    return ScalarValue.of(wrap(dtype, whole(function, dtype, x)));
  }

  /** Returns the low bits of an integer, sign- or zero-extended. */
  private static long wrap(DType dtype, long value) {
    return switch (dtype) {
      case I8 -> (byte) value;
      case I16 -> (short) value;
      case I32 -> (int) value;
      case U8 -> value & 0xFF;
      case U32 -> value & 0xFFFF_FFFFL;
      case BOOL -> value & 1;
      default -> value;
    };
  }

  private static long whole(Function function, DType dtype, long[] x) {
    long a = x[0];
    long b = x[x.length - 1];
    int width = 8 * dtype.bytes();
    return switch (function) {
      case OR, BIT_OR -> a | b;
      case AND, BIT_AND -> a & b;
      case NOT -> a ^ 1;
      case BIT_XOR -> a ^ b;
      case BIT_NOT -> ~a;
      case EQ -> truth(a == b);
      case NE -> truth(a != b);
      case LT -> truth(a < b);
      case LE -> truth(a <= b);
      case GT -> truth(a > b);
      case GE -> truth(a >= b);
      case SHIFT_LEFT -> b < 0 || b >= width ? 0 : a << b;
      case SHIFT_RIGHT -> a >> (b < 0 || b >= width ? 63 : b);
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case FLOOR_DIVIDE -> b == 0 ? 0 : Math.floorDiv(a, b);
      case MODULO -> b == 0 ? 0 : Math.floorMod(a, b);
      case NEGATE -> -a;
      case ABS -> Math.abs(a);
      case SIGN -> Long.signum(a);
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      case CLAMP -> Math.min(Math.max(a, x[1]), b);
      case RELU -> Math.max(a, 0);
      case FMA -> a * x[1] + b;
      default -> throw new IllegalStateException(function + " of integers");
    };
  }

  private static long truth(boolean value) {
    return value ? 1 : 0;
  }

  private static ScalarValue real(Function function, DType dtype, double[] x) {
    double a = x[0];
    double b = x[x.length - 1];
    return switch (function) {
      case EQ -> ScalarValue.of(a == b);
      case NE -> ScalarValue.of(a != b);
      case LT -> ScalarValue.of(a < b);
      case LE -> ScalarValue.of(a <= b);
      case GT -> ScalarValue.of(a > b);
      case GE -> ScalarValue.of(a >= b);
      case ISNAN -> ScalarValue.of(Double.isNaN(a));
      case ISINF -> ScalarValue.of(Math.abs(a) >= infinity(dtype));
      case ISFINITE -> ScalarValue.of(Math.abs(a) < infinity(dtype));
      default -> ScalarValue.of(x.length == 1 ? unary(function, a) : several(function, a, x[1], b));
    };
  }

  /** Returns the least number that becomes infinite where a dtype is computed. */
  private static double infinity(DType dtype) {
    return dtype == DType.F64 ? Double.POSITIVE_INFINITY : DType.F32.overflow();
  }

  private static double several(Function function, double a, double b, double last) {
    return switch (function) {
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case DIVIDE -> a / b;
      case FLOOR_DIVIDE -> quotient(a, b);
      case MODULO -> remainder(a, b);
      case POWER -> power(a, b);
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      case CLAMP -> Math.min(Math.max(a, b), last);
      case FMA -> Math.fma(a, b, last);
      default -> throw new IllegalStateException(function.toString());
    };
  }

  private static double quotient(double a, double b) {
    double floor = Math.floor(a / b);
    double rest = Math.fma(-floor, b, a);
    return b < 0 ? (rest > 0 ? floor - 1 : floor) : rest < 0 ? floor - 1 : floor;
  }

  private static double remainder(double a, double b) {
    if (Double.isInfinite(b) && !Double.isInfinite(a)) {
      return a == 0 || Double.isNaN(a) || a < 0 == b < 0 ? a : b;
    }
    return Math.fma(-quotient(a, b), b, a);
  }

  /** Returns a power as C does: 1 to any power and any number to the power of 0 are 1. */
  private static double power(double a, double b) {
    return a == 1 || (a == -1 && Double.isInfinite(b)) ? 1 : Math.pow(a, b);
  }

  private static double unary(Function function, double a) {
    return switch (function) {
      case NEGATE -> -a;
      case ABS -> Math.abs(a);
      case SIGN -> Math.signum(a);
      case RELU -> Activation.RELU.apply(a);
      case FLOOR -> Math.floor(a);
      case CEIL -> Math.ceil(a);
      case ROUND -> Math.rint(a);
      case TRUNC -> a < 0 ? Math.ceil(a) : Math.floor(a);
      case SQRT -> Math.sqrt(a);
      case RSQRT -> 1 / Math.sqrt(a);
      case EXP -> Math.exp(a);
      case EXP2 -> Math.pow(2, a);
      case EXPM1 -> Math.expm1(a);
      case LOG -> Math.log(a);
      case LOG2 -> log2(a);
      case LOG1P -> Math.log1p(a);
      case SIN -> Math.sin(a);
      case COS -> Math.cos(a);
      case TAN -> Math.tan(a);
      case ASIN -> Math.asin(a);
      case ACOS -> Math.acos(a);
      case ATAN -> Math.atan(a);
      case TANH -> Math.tanh(a);
      case SIGMOID -> Activation.SIGMOID.apply(a);
      case ERF -> erf(a);
      case GELU -> Activation.GELU.apply(a);
      case SILU -> Activation.SILU.apply(a);
      case SOFTPLUS -> Activation.RELU.apply(a) + Math.log1p(Math.exp(-Math.abs(a)));
      default -> throw new IllegalStateException(function.toString());
    };
  }

  /** Returns the logarithm, exact for powers of two. */
  private static double log2(double a) {
    int exponent = a > 0 && Double.isFinite(a) ? Math.getExponent(a) : 0;
    double log = Math.log(Math.scalb(a, -exponent)) / Math.log(2);
    return exponent + log;
  }

  /** Returns the error function: its Taylor series near 0, else twice a normal tail below 1. */
  private static double erf(double a) {
    double x = Math.abs(a);
    if (x > 1) {
      double scaled = Math.min(x, 10) * Math.sqrt(2);
      double tail = Activation.GELU.apply(-scaled) / -scaled;
      return Math.copySign(1 - 2 * tail, a);
    }
    double term = a;
    double sum = a;
    for (int n = 1; n < 40; n++) {
      term *= -a * a / n;
      sum += term / (2 * n + 1);
    }
    return 2 / Math.sqrt(Math.PI) * sum;
  }
}
