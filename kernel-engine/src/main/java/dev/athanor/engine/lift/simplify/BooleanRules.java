package dev.athanor.engine.lift.simplify;

import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules for conditions and selections. */
final class BooleanRules {

  private BooleanRules() {}

  static @Nullable Value simplify(Value value) {
    var a = value.input(0);
    var b = value.input(1);
    if (a.is(Op.CONSTANT)) {
      return new Value(value.op(), ValueType.BOOL, List.of(b, a), null, value.source());
    }
    return switch (value.op()) {
      case AND -> a == b || b.isConstant(true) ? a : b.isConstant(false) ? b : null;
      case OR -> a == b || b.isConstant(false) ? a : b.isConstant(true) ? b : null;
      case XOR -> b.isConstant(true) ? negated(a, value) : b.isConstant(false) ? a : null;
      default -> null;
    };
  }

  /** Returns the negation of a condition, as a new value. */
  static Value not(Value condition, Value at) {
    var simple = negated(condition, at);
    return simple != null
        ? simple
        : new Value(
            Op.XOR, ValueType.BOOL, List.of(condition, Value.constant(true)), null, at.source());
  }

  private static @Nullable Value negated(Value condition, Value at) {
    if (condition.is(Op.CONSTANT)) {
      return Value.constant(condition.isConstant(false));
    }
    if (condition.is(Op.COMPARE)) {
      var a = condition.input(0);
      return Simplifier.comparison(
          at, condition.attribute(Relation.class).negated(a.type()), a, condition.input(1));
    }
    return condition.is(Op.XOR) && condition.input(1).isConstant(true) ? condition.input(0) : null;
  }

  static @Nullable Value select(Value value) {
    var condition = value.input(0);
    var a = value.input(1);
    var b = value.input(2);
    if (condition.is(Op.CONSTANT)) {
      return condition.isConstant(true) ? a : b;
    }
    if (a == b || (a.is(Op.CONSTANT) && b.isConstant(a.attribute(Object.class)))) {
      return a;
    }
    if (condition.is(Op.XOR) && condition.input(1).isConstant(true)) {
      return value.with(List.of(condition.input(0), b, a));
    }
    if (value.type() == ValueType.BOOL) {
      return ofConditions(value, condition, a, b);
    }
    return null;
  }

  private static @Nullable Value ofConditions(Value value, Value condition, Value a, Value b) {
    if (a.isConstant(true) && b.isConstant(false)) {
      return condition;
    }
    if (a.isConstant(true)) {
      return new Value(Op.OR, ValueType.BOOL, List.of(condition, b), null, value.source());
    }
    if (b.isConstant(false)) {
      return new Value(Op.AND, ValueType.BOOL, List.of(condition, a), null, value.source());
    }
    return a.isConstant(false) && b.isConstant(true) ? not(condition, value) : null;
  }
}
