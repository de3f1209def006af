package dev.athanor.engine.debug.expression;

/** Java's operators on boxed operands that are promoted to one type (JLS 15.15 to 15.22). */
final class Arithmetic {

  private Arithmetic() {}

  /** Computes {@code -a} or {@code ~a}. */
  static Object unary(String operator, JavaType type, Object a) {
    boolean isBits = operator.equals("~");
    return switch (type) {
      case INT -> isBits ? ~(int) a : -(int) a;
      case LONG -> isBits ? ~(long) a : -(long) a;
      case FLOAT -> -(float) a;
      case DOUBLE -> -(double) a;
      default -> throw new IllegalStateException(type.word());
    };
  }

  /**
   * Computes an arithmetic or bitwise operator. The result in a wide type, narrowed, is that in the
   * narrow one: for ints modulo 2^32, and for floats since a double has more than twice the bits.
   */
  static Object binary(String operator, JavaType type, Object a, Object b) {
    var x = (Number) a;
    var y = (Number) b;
    return switch (type) {
      case INT -> (int) integers(operator, x.longValue(), y.longValue());
      case LONG -> integers(operator, x.longValue(), y.longValue());
      case FLOAT -> (float) reals(operator, x.doubleValue(), y.doubleValue());
      case DOUBLE -> reals(operator, x.doubleValue(), y.doubleValue());
      default -> throw new IllegalStateException(type.word());
    };
  }

  private static long integers(String operator, long a, long b) {
    return switch (operator) {
      case "+" -> a + b;
      case "-" -> a - b;
      case "*" -> a * b;
      case "/" -> a / divisor(b);
      case "%" -> a % divisor(b);
      case "&" -> a & b;
      case "|" -> a | b;
      case "^" -> a ^ b;
      default -> throw new IllegalStateException(operator);
    };
  }

  private static long divisor(long value) {
    if (value == 0) {
      throw new EvaluationException("division by zero");
    }
    return value;
  }

  private static double reals(String operator, double a, double b) {
    return switch (operator) {
      case "+" -> a + b;
      case "-" -> a - b;
      case "*" -> a * b;
      case "/" -> a / b;
      case "%" -> a % b;
      default -> throw new IllegalStateException(operator);
    };
  }

  /** Shifts an int or a long. */
  static Object shift(String operator, Object a, long count) {
    int by = (int) count; // Java uses the lowest five or six bits
    if (a instanceof Integer value) {
      return switch (operator) {
        case "<<" -> value << by;
        case ">>" -> value >> by;
        default -> value >>> by;
      };
    }
    long value = (long) a;
    return switch (operator) {
      case "<<" -> value << by;
      case ">>" -> value >> by;
      default -> value >>> by;
    };
  }

  /** Compares numbers of one type. A NaN is only unequal. */
  static boolean compare(String operator, Object a, Object b) {
    if (a instanceof Integer || a instanceof Long) {
      return holds(operator, Long.compare(((Number) a).longValue(), ((Number) b).longValue()));
    }
    double x = ((Number) a).doubleValue();
    double y = ((Number) b).doubleValue();
    if (Double.isNaN(x) || Double.isNaN(y)) {
      return operator.equals("!=");
    }
    return holds(operator, x < y ? -1 : x > y ? 1 : 0);
  }

  private static boolean holds(String operator, int order) {
    return switch (operator) {
      case "==" -> order == 0;
      case "!=" -> order != 0;
      case "<" -> order < 0;
      case "<=" -> order <= 0;
      case ">" -> order > 0;
      case ">=" -> order >= 0;
      default -> throw new IllegalStateException(operator);
    };
  }

  /** Computes an operator on booleans that evaluates both operands. */
  static boolean logical(String operator, boolean a, boolean b) {
    return switch (operator) {
      case "==" -> a == b;
      case "!=", "^" -> a != b;
      case "&" -> a && b;
      case "|" -> a || b;
      default -> throw new IllegalStateException(operator);
    };
  }
}
