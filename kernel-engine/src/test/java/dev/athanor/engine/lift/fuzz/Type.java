package dev.athanor.engine.lift.fuzz;

import java.util.List;

/** A type of the expressions in random kernels. */
@SuppressWarnings("ImmutableEnumChecker") // the lists are copies
enum Type {
  INT("int", "Ints", "0", "1"),
  LONG("long", "Longs", "0L", "1L"),
  FLOAT("float", "Floats", "0f", "1f"),
  DOUBLE("double", "Doubles", "0d", "1d"),
  BOOLEAN("boolean", "", "false", "true");

  static final List<Type> NUMBERS = List.of(INT, LONG, FLOAT, DOUBLE);

  private final String word;
  private final String plural;
  private final List<String> constants;

  Type(String word, String plural, String... constants) {
    this.word = word;
    this.plural = plural;
    this.constants = List.of(constants);
  }

  /** Returns the name in Java. */
  String word() {
    return word;
  }

  /** Returns the end of the names of shared arrays, such as {@code Ints}. */
  String plural() {
    return plural;
  }

  /** Returns simple constants. */
  List<String> constants() {
    return constants;
  }

  /** Returns the name of the array of arguments. */
  String array() {
    return word + "s";
  }

  /** Returns the type of expressions of a Java type. */
  static Type of(String word) {
    return switch (word) {
      case "long" -> LONG;
      case "float" -> FLOAT;
      case "double" -> DOUBLE;
      case "boolean" -> BOOLEAN;
      default -> INT;
    };
  }

  boolean isInteger() {
    return this == INT || this == LONG;
  }
}
