package dev.athanor.ops.expression;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import java.util.List;
import java.util.Optional;

/**
 * A compiled expression.
 *
 * @param text as written, with single blanks
 * @param literals the values of the program's literals
 */
record Expression(String text, Program program, List<ScalarValue> literals) {

  Expression {
    literals = List.copyOf(literals);
  }

  /**
   * A constant of an expression.
   *
   * @param name of the attribute, for messages
   */
  record Constant(String name, double value) {}

  /**
   * Compiles an expression.
   *
   * @param inputs dtypes of x0, x1, …
   * @param constants values of c0, c1, …
   * @param output dtype of the result; empty for that of the expression
   * @throws OpException.InvalidAttribute if it is not valid for these inputs
   */
  static Expression of(
      String text, List<DType> inputs, List<Constant> constants, Optional<DType> output) {
    return new ExpressionParser(text, new Typing(inputs, constants)).parse(output);
  }
}
