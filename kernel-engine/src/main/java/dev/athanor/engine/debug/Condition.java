package dev.athanor.engine.debug;

import dev.athanor.engine.debug.expression.Bound;
import dev.athanor.engine.debug.expression.Expression;
import dev.athanor.engine.debug.expression.JavaType;
import dev.athanor.engine.debug.expression.Scope;

/**
 * A condition for a lane: a boolean expression of its indices, registers and variables, as in
 * {@code lane == 3 && block.x == 1 && %f2 > 0.5}.
 */
public record Condition(String text, Expression expression) {

  /**
   * Parses a condition.
   *
   * @throws IllegalArgumentException if the text is not an expression
   */
  public static Condition parse(String text) {
    try {
      return new Condition(text, Expression.parse(text));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "\"%s\" is not a condition: %s".formatted(text, e.getMessage()), e);
    }
  }

  /**
   * Resolves the names and checks the types.
   *
   * @throws IllegalArgumentException if a name is unknown or a type is wrong
   */
  Bound bind(Scope scope) {
    var bound = expression.bind(scope);
    if (bound.type() != JavaType.BOOLEAN) {
      throw new IllegalArgumentException(
          "\"%s\" is not a condition: its type is %s; write a comparison, as in lane == 3"
              .formatted(text, bound.type().word()));
    }
    return bound;
  }
}
