package dev.athanor.engine.debug.expression;

import java.util.List;
import java.util.stream.Stream;

/** The syntax tree of an expression. Positions are columns from 1. */
public sealed interface Expression {

  /** A literal: a boxed primitive. */
  record Literal(Object value) implements Expression {}

  /** A variable, register, component, length or index, such as {@code point.x} or {@code %r1}. */
  record Name(String name) implements Expression {}

  /** An element of an array, or the value of a variable in a lane. */
  record Element(Name of, Expression index) implements Expression {}

  /** One of {@code + - ~ !}. */
  record Unary(String operator, Expression operand, int column) implements Expression {}

  record Binary(String operator, Expression left, Expression right, int column)
      implements Expression {}

  /** {@code condition ? yes : no}. */
  record Conditional(Expression condition, Expression yes, Expression no, int column)
      implements Expression {}

  record Cast(JavaType type, Expression operand, int column) implements Expression {}

  /** A call of a function of {@link Math}. */
  record Call(String function, List<Expression> arguments, int column) implements Expression {
    public Call {
      arguments = List.copyOf(arguments);
    }
  }

  /**
   * Parses an expression.
   *
   * @throws IllegalArgumentException if the text is none; the message names the column and what was
   *     expected
   */
  static Expression parse(String text) {
    return new ExpressionParser(text).parse();
  }

  /** Returns the names in the expression. */
  default Stream<String> names() {
    return switch (this) {
      case Literal _ -> Stream.empty();
      case Name(var name) -> Stream.of(name);
      case Element(var of, var index) -> Stream.concat(of.names(), index.names());
      case Unary unary -> unary.operand.names();
      case Binary binary -> Stream.concat(binary.left.names(), binary.right.names());
      case Conditional choice ->
          Stream.of(choice.condition, choice.yes, choice.no).flatMap(Expression::names);
      case Cast cast -> cast.operand.names();
      case Call call -> call.arguments.stream().flatMap(Expression::names);
    };
  }

  /**
   * Resolves the names and checks the types.
   *
   * @throws IllegalArgumentException if a name is unknown, or an operand has the wrong type
   */
  default Bound bind(Scope scope) {
    return new Binder(scope).bind(this);
  }
}
