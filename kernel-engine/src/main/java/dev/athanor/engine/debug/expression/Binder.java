package dev.athanor.engine.debug.expression;

import dev.athanor.engine.debug.expression.Expression.Binary;
import dev.athanor.engine.debug.expression.Expression.Call;
import dev.athanor.engine.debug.expression.Expression.Cast;
import dev.athanor.engine.debug.expression.Expression.Conditional;
import dev.athanor.engine.debug.expression.Expression.Element;
import dev.athanor.engine.debug.expression.Expression.Literal;
import dev.athanor.engine.debug.expression.Expression.Name;
import dev.athanor.engine.debug.expression.Expression.Unary;
import dev.athanor.engine.debug.expression.Scope.Array;
import dev.athanor.engine.debug.expression.Scope.Scalar;
import java.util.Set;

/** Resolves the names of an expression and checks its types as Java does. */
final class Binder {

  /** Threads per warp. */
  private static final int LANES = 32;

  private static final Set<String> EQUALITIES = Set.of("==", "!=");
  private static final Set<String> RELATIONS = Set.of("<", "<=", ">", ">=");
  private static final Set<String> SHIFTS = Set.of("<<", ">>", ">>>");
  private static final Set<String> BITS = Set.of("&", "|", "^");

  private final Scope scope;

  Binder(Scope scope) {
    this.scope = scope;
  }

  Bound bind(Expression expression) {
    return switch (expression) {
      case Literal(var value) -> new Bound(typeOf(value), true, _ -> value);
      case Name name -> scalar(name);
      case Element element -> element(element);
      case Unary unary -> unary(unary);
      case Binary binary -> binary(binary);
      case Conditional choice -> conditional(choice);
      case Cast cast -> cast(cast);
      case Call call ->
          MathFunctions.call(
              call.function(), call.arguments().stream().map(this::bind).toList(), call.column());
    };
  }

  private static JavaType typeOf(Object value) {
    return switch (value) {
      case Boolean _ -> JavaType.BOOLEAN;
      case Character _ -> JavaType.CHAR;
      case Integer _ -> JavaType.INT;
      case Long _ -> JavaType.LONG;
      case Float _ -> JavaType.FLOAT;
      case Double _ -> JavaType.DOUBLE;
      default -> throw new IllegalStateException(value.toString());
    };
  }

  private Bound scalar(Name name) {
    return switch (scope.find(name.name())) {
      case Scalar(var type, var values) -> new Bound(type, false, values);
      case Array _ ->
          throw new IllegalArgumentException(
              "%s is an array; write an element such as %s[0]".formatted(name.name(), name.name()));
    };
  }

  private Bound element(Element element) {
    var name = element.of().name();
    var index = bind(element.index());
    if (!index.type().isIntegral()) {
      throw new IllegalArgumentException(
          "the index of %s has the type %s; expected a whole number"
              .formatted(name, index.type().word()));
    }
    var number = index.as(JavaType.LONG);
    return switch (scope.find(name)) {
      case Scalar(var type, var values) ->
          new Bound(
              type,
              index.uniform(),
              thread -> {
                long lane = (long) number.value(thread);
                check(name, lane, LANES);
                return values.apply(thread / LANES * LANES + (int) lane);
              });
      case Array(var type, var length, var elements) ->
          new Bound(
              type,
              index.uniform(),
              thread -> {
                long at = (long) number.value(thread);
                check(name, at, length.applyAsLong(thread));
                return elements.get(thread, at);
              });
    };
  }

  private static void check(String name, long index, long length) {
    if (index < 0 || index >= length) {
      throw new EvaluationException(
          "%s[%d] is out of bounds; an index is a number from 0 to %d"
              .formatted(name, index, length - 1));
    }
  }

  private Bound unary(Unary unary) {
    var operand = bind(unary.operand());
    var operator = unary.operator();
    if (operator.equals("!")) {
      require(operand.type() == JavaType.BOOLEAN, operator, "a boolean", operand, unary.column());
      return new Bound(
          JavaType.BOOLEAN, operand.uniform(), thread -> !(boolean) operand.value(thread));
    }
    boolean isBits = operator.equals("~");
    require(
        isBits ? operand.type().isIntegral() : operand.type().isNumber(),
        operator,
        isBits ? "a whole number" : "a number",
        operand,
        unary.column());
    var type = operand.type().promoted();
    var number = operand.as(type);
    return operator.equals("+")
        ? number
        : new Bound(
            type,
            number.uniform(),
            thread -> Arithmetic.unary(operator, type, number.value(thread)));
  }

  private static void require(
      boolean holds, String operator, String wanted, Bound operand, int column) {
    if (!holds) {
      throw new IllegalArgumentException(
          "column %d: the operand of %s has the type %s; expected %s"
              .formatted(column, operator, operand.type().word(), wanted));
    }
  }

  private Bound binary(Binary binary) {
    var left = bind(binary.left());
    var right = bind(binary.right());
    var operator = binary.operator();
    boolean uniform = left.uniform() && right.uniform();
    boolean areBooleans = left.type() == JavaType.BOOLEAN && right.type() == JavaType.BOOLEAN;
    boolean areNumbers = left.type().isNumber() && right.type().isNumber();
    boolean areWhole = left.type().isIntegral() && right.type().isIntegral();
    if (operator.equals("&&") || operator.equals("||")) {
      require(areBooleans, "booleans", left, right, binary);
      boolean decides = operator.equals("||");
      return new Bound(
          JavaType.BOOLEAN,
          uniform,
          thread -> (boolean) left.value(thread) == decides ? decides : right.value(thread));
    }
    if (areBooleans && (EQUALITIES.contains(operator) || BITS.contains(operator))) {
      return new Bound(
          JavaType.BOOLEAN,
          uniform,
          thread ->
              Arithmetic.logical(
                  operator, (boolean) left.value(thread), (boolean) right.value(thread)));
    }
    if (SHIFTS.contains(operator)) {
      require(areWhole, "whole numbers", left, right, binary);
      var type = left.type().promoted();
      var shifted = left.as(type);
      var count = right.as(JavaType.LONG);
      return new Bound(
          type,
          uniform,
          thread -> Arithmetic.shift(operator, shifted.value(thread), (long) count.value(thread)));
    }
    if (BITS.contains(operator)) {
      require(areWhole, "whole numbers or booleans", left, right, binary);
    } else if (EQUALITIES.contains(operator)) {
      require(areNumbers, "two numbers or two booleans", left, right, binary);
    } else {
      require(areNumbers, "numbers", left, right, binary);
    }
    var type = left.type().promoted(right.type());
    var a = left.as(type);
    var b = right.as(type);
    if (EQUALITIES.contains(operator) || RELATIONS.contains(operator)) {
      return new Bound(
          JavaType.BOOLEAN,
          uniform,
          thread -> Arithmetic.compare(operator, a.value(thread), b.value(thread)));
    }
    return new Bound(
        type,
        uniform,
        thread -> Arithmetic.binary(operator, type, a.value(thread), b.value(thread)));
  }

  private static void require(
      boolean holds, String wanted, Bound left, Bound right, Binary binary) {
    if (!holds) {
      throw new IllegalArgumentException(
          "column %d: the operands of %s are %s and %s; expected %s"
              .formatted(
                  binary.column(),
                  binary.operator(),
                  left.type().word(),
                  right.type().word(),
                  wanted));
    }
  }

  private Bound conditional(Conditional choice) {
    var condition = bind(choice.condition());
    require(condition.type() == JavaType.BOOLEAN, "?", "a boolean", condition, choice.column());
    var yes = bind(choice.yes());
    var no = bind(choice.no());
    if (yes.type() != no.type() && !(yes.type().isNumber() && no.type().isNumber())) {
      throw new IllegalArgumentException(
          "column %d: the results of ?: are %s and %s; expected two numbers or two booleans"
              .formatted(choice.column(), yes.type().word(), no.type().word()));
    }
    var type = resultType(choice, yes, no);
    var whenTrue = yes.as(type);
    var whenFalse = no.as(type);
    return new Bound(
        type,
        condition.uniform() && yes.uniform() && no.uniform(),
        thread -> ((boolean) condition.value(thread) ? whenTrue : whenFalse).value(thread));
  }

  /** Returns the type of {@code ?:} (JLS 15.25). */
  private static JavaType resultType(Conditional choice, Bound whenTrue, Bound whenFalse) {
    var yes = whenTrue.type();
    var no = whenFalse.type();
    if (yes == no) {
      return yes;
    }
    if (fits(choice.yes(), whenTrue, no)) {
      return no;
    }
    if (fits(choice.no(), whenFalse, yes)) {
      return yes;
    }
    return Set.of(yes, no).equals(Set.of(JavaType.BYTE, JavaType.SHORT))
        ? JavaType.SHORT
        : yes.promoted(no);
  }

  /** Returns whether an operand is an int constant that a type smaller than int can represent. */
  private static boolean fits(Expression expression, Bound operand, JavaType type) {
    if (type.isNumber()
        && type.compareTo(JavaType.INT) < 0
        && operand.type() == JavaType.INT
        && isConstant(expression)) {
      try {
        var value = operand.value(0);
        return JavaType.INT.cast(type.cast(value)).equals(value);
      } catch (EvaluationException e) {
        return false; // a division by zero is no constant
      }
    }
    return false;
  }

  private static boolean isConstant(Expression expression) {
    return switch (expression) {
      case Literal _ -> true;
      case Name _, Element _, Call _ -> false;
      case Unary unary -> isConstant(unary.operand());
      case Binary binary -> isConstant(binary.left()) && isConstant(binary.right());
      case Conditional choice ->
          isConstant(choice.condition()) && isConstant(choice.yes()) && isConstant(choice.no());
      case Cast cast -> isConstant(cast.operand());
    };
  }

  private Bound cast(Cast cast) {
    var operand = bind(cast.operand());
    if (operand.type().isNumber() != cast.type().isNumber()) {
      throw new IllegalArgumentException(
          "column %d: %s cannot be cast to %s"
              .formatted(cast.column(), operand.type().word(), cast.type().word()));
    }
    return operand.as(cast.type());
  }
}
