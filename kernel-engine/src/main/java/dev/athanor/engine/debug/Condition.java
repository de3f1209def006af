package dev.athanor.engine.debug;

import dev.athanor.engine.ptx.RegisterClass;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A condition for a lane: comparisons of its indices, registers and variables with numbers, all of
 * which must hold, as in {@code lane == 3 && block.x == 1 && %f2 > 0.5}.
 */
public record Condition(List<Comparison> comparisons) {

  /** The indices of a lane. */
  public static final Set<String> INDICES =
      Set.of(
          "lane",
          "warp",
          "block",
          "block.x",
          "block.y",
          "block.z",
          "thread",
          "thread.x",
          "thread.y",
          "thread.z");

  private static final Pattern COMPARISON =
      Pattern.compile(
          "\\s*([%$\\w.]+)\\s*(==|!=|<=|>=|<|>)\\s*(true|false|-?(?:0[xX][0-9a-fA-F]+|[0-9.eE+-]+))\\s*");

  /**
   * A comparison.
   *
   * @param name of an index, a register or a variable of the source
   * @param number a {@link Long} or a {@link Double}
   */
  public record Comparison(String name, String operator, Number number) {
    boolean holds(Number value) {
      int order =
          value instanceof Long a && number instanceof Long b
              ? Long.compare(a, b)
              : Double.compare(value.doubleValue(), number.doubleValue());
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
  }

  public Condition {
    comparisons = List.copyOf(comparisons);
  }

  /**
   * Reads a condition.
   *
   * @throws IllegalArgumentException if the text has another form
   */
  public static Condition parse(String text) {
    var comparisons = new ArrayList<Comparison>();
    for (var part : text.split("&&", -1)) {
      var match = COMPARISON.matcher(part);
      if (!match.matches()) {
        throw wrong(text);
      }
      comparisons.add(new Comparison(match.group(1), match.group(2), number(match.group(3), text)));
    }
    return new Condition(comparisons);
  }

  private static Number number(String digits, String text) {
    if (digits.equals("true") || digits.equals("false")) {
      return digits.equals("true") ? 1L : 0L;
    }
    try {
      return Long.decode(
          digits.matches("-?0\\d+") ? String.valueOf(Long.parseLong(digits)) : digits);
    } catch (NumberFormatException notWhole) {
      try {
        return Double.valueOf(digits);
      } catch (NumberFormatException e) {
        throw wrong(text);
      }
    }
  }

  private static IllegalArgumentException wrong(String text) {
    return new IllegalArgumentException(
        "\"%s\" is not a condition; write comparisons of lane, warp, block, thread, a register or a variable with a number, joined by &&, as in lane == 3 && %%r1 > 0"
            .formatted(text));
  }

  /**
   * Returns whether the condition holds for a lane.
   *
   * @param values returns the value of an index, register or variable; null if there is none
   */
  boolean holds(Function<String, @Nullable Number> values) {
    return comparisons.stream()
        .allMatch(comparison -> {
          var value = values.apply(comparison.name);
          return value != null && comparison.holds(value);
        });
  }

  /** Returns the bits of a register as a number. */
  static Number number(RegisterClass type, long bits) {
    return switch (type) {
      case PRED, B64 -> bits;
      case B16 -> (long) (short) bits;
      case B32 -> (long) (int) bits;
      case F32 -> (double) Float.intBitsToFloat((int) bits);
      case F64 -> Double.longBitsToDouble(bits);
    };
  }
}
