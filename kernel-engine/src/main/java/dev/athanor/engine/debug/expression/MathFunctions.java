package dev.athanor.engine.debug.expression;

import static java.util.Objects.requireNonNull;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.Stream;

/** The functions of {@link Math} that expressions may call. */
final class MathFunctions {

  private static final Map<String, DoubleUnaryOperator> OF_DOUBLE =
      Map.of(
          "Math.sqrt", Math::sqrt,
          "Math.exp", Math::exp,
          "Math.log", Math::log,
          "Math.sin", Math::sin,
          "Math.cos", Math::cos,
          "Math.floor", Math::floor,
          "Math.ceil", Math::ceil);

  /** The number of arguments of the others. */
  private static final Map<String, Integer> OTHERS =
      Map.of("Math.abs", 1, "Math.min", 2, "Math.max", 2, "Math.round", 1, "Math.pow", 2);

  /** The names of all functions, sorted. */
  static final Set<String> NAMES = new TreeSet<>(OTHERS.keySet());

  static {
    NAMES.addAll(OF_DOUBLE.keySet());
  }

  private MathFunctions() {}

  /** Binds a call of a function in {@link #NAMES}. */
  static Bound call(String name, List<Bound> arguments, int column) {
    int count = OTHERS.getOrDefault(name, 1);
    if (arguments.size() != count || !arguments.stream().allMatch(each -> each.type().isNumber())) {
      throw new IllegalArgumentException(
          "column %d: %s takes %s"
              .formatted(column, name, count == 1 ? "one number" : "two numbers"));
    }
    var type = resultType(name, arguments);
    var operandType =
        name.equals("Math.round")
            ? (type == JavaType.INT ? JavaType.FLOAT : JavaType.DOUBLE)
            : type;
    var operands = arguments.stream().map(each -> each.as(operandType)).toList();
    return new Bound(
        type,
        operands.stream().allMatch(Bound::uniform),
        thread -> {
          var values = operands.stream().map(each -> each.value(thread));
          return type.cast(apply(name, operandType, values));
        });
  }

  /** Returns the result type of the overload that Java chooses. */
  private static JavaType resultType(String name, List<Bound> arguments) {
    return switch (name) {
      case "Math.abs", "Math.min", "Math.max" ->
          arguments.stream()
              .map(each -> each.type().promoted())
              .reduce(JavaType::promoted)
              .orElseThrow();
      case "Math.round" ->
          arguments.getFirst().type() == JavaType.DOUBLE ? JavaType.LONG : JavaType.INT;
      default -> JavaType.DOUBLE;
    };
  }

  private static Object apply(String name, JavaType type, Stream<Object> operands) {
    var values = operands.toList();
    var first = values.getFirst();
    return switch (name) {
      case "Math.abs" -> abs(type, first);
      case "Math.min" -> extreme(type, first, values.get(1), true);
      case "Math.max" -> extreme(type, first, values.get(1), false);
      case "Math.pow" -> Math.pow((double) first, (double) values.get(1));
      case "Math.round" ->
          first instanceof Float value
              ? (Object) Math.round(value)
              : (Object) Math.round((double) first);
      default -> requireNonNull(OF_DOUBLE.get(name)).applyAsDouble((double) first);
    };
  }

  private static Object abs(JavaType type, Object value) {
    return switch (type) {
      case INT -> Math.abs((int) value);
      case LONG -> Math.abs((long) value);
      case FLOAT -> Math.abs((float) value);
      default -> Math.abs((double) value);
    };
  }

  private static Object extreme(JavaType type, Object a, Object b, boolean least) {
    return switch (type) {
      case INT -> least ? Math.min((int) a, (int) b) : Math.max((int) a, (int) b);
      case LONG -> least ? Math.min((long) a, (long) b) : Math.max((long) a, (long) b);
      case FLOAT -> least ? Math.min((float) a, (float) b) : Math.max((float) a, (float) b);
      default -> least ? Math.min((double) a, (double) b) : Math.max((double) a, (double) b);
    };
  }
}
