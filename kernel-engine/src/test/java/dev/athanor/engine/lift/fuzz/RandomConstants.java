package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;

import java.util.List;
import java.util.Random;

/** Random constants, of those near the ends of a range more often than others. */
record RandomConstants(Random random) {
  private String pick(List<String> choices) {
    return choices.get(random.nextInt(choices.size()));
  }

  /** Returns a constant. */
  String of(Type type) {
    return switch (type) {
      case INT ->
          switch (random.nextInt(4)) {
            case 0 ->
                pick(List.of("Integer.MIN_VALUE", "Integer.MAX_VALUE", "-1", "31", "32", "65535"));
            case 1 -> "(" + random.nextInt() + ")";
            default -> String.valueOf(random.nextInt(9));
          };
      case LONG ->
          switch (random.nextInt(4)) {
            case 0 ->
                pick(List.of("Long.MIN_VALUE", "Long.MAX_VALUE", "-1L", "63L", "4294967296L"));
            case 1 -> "(" + random.nextLong() + "L)";
            default -> random.nextInt(9) + "L";
          };
      case FLOAT ->
          random.nextInt(4) == 0
              ? pick(
                  List.of(
                      "Float.NaN", "Float.POSITIVE_INFINITY", "-0f", "1e-40f", "3e38f", "0x1p31f"))
              : "(" + (random.nextInt(4001) - 2000) / 64f + "f)";
      case DOUBLE ->
          random.nextInt(4) == 0
              ? pick(
                  List.of(
                      "Double.NaN", "Double.NEGATIVE_INFINITY", "-0d", "1e-310", "1e308", "0x1p63"))
              : "(" + (random.nextInt(4001) - 2000) / 128.0 + ")";
      case BOOLEAN -> pick(BOOLEAN.constants());
    };
  }
}
