package dev.athanor.engine.lift.simplify;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.ArrayVariable;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Replaces a value by a simpler one that is equal on all inputs. Rules look at a value and its
 * inputs only. New values are returned unplaced: the caller puts those that are not literals where
 * the old value was.
 */
public final class Simplifier {

  private Simplifier() {}

  /**
   * Returns a simpler value equal to this one: an input, a literal, or a new value whose inputs are
   * literals or available where this one is; null if no rule applies.
   */
  public static @Nullable Value simplify(Value value) {
    var folded = ConstantFolder.fold(value);
    if (folded != null) {
      return folded;
    }
    return switch (value.op()) {
      case ADD, SUB, MUL, DIV, REM, AND, OR, XOR, SHL, SHR, USHR ->
          switch (value.type()) {
            case INT, LONG -> IntegerRules.simplify(value);
            case BOOL -> BooleanRules.simplify(value);
            default -> null;
          };
      case COMPARE -> compare(value);
      case SELECT -> BooleanRules.select(value);
      case CONVERT -> convert(value);
      case NARROW -> narrow(value);
      case BITCAST ->
          value.input(0).is(Op.BITCAST) && value.input(0).input(0).type() == value.type()
              ? value.input(0).input(0)
              : null;
      case STORE -> store(value);
      case LOAD -> load(value);
      case ADDRESS -> value.input(1).isConstant(0) ? value.input(0) : null;
      default -> null;
    };
  }

  /** Reads an element of a constant array. */
  private static @Nullable Value load(Value value) {
    var access = value.attribute(Access.class);
    if (access.space() != Access.Space.CONST || access.count() > 1) {
      return null;
    }
    var address = value.input(0);
    long offset = access.offset();
    if (address.is(Op.ADDRESS) && address.input(1).is(Op.CONSTANT)) {
      offset += address.attribute(Integer.class) * address.input(1).integer();
      address = address.input(0);
    }
    if (!address.is(Op.ARRAY)) {
      return null;
    }
    var array = address.attribute(ArrayVariable.class);
    long index = offset / array.element().bytes();
    return index >= 0 && index < array.length() ? array.constant((int) index) : null;
  }

  private static @Nullable Value compare(Value value) {
    var a = value.input(0);
    var b = value.input(1);
    var relation = value.attribute(Relation.class);
    if (a.is(Op.CONSTANT) && relation != Relation.LO && relation != Relation.HS) {
      return comparison(value, relation.swapped(), b, a);
    }
    if (a.is(Op.THREE_WAY) && b.isConstant(0)) {
      boolean nan = relation.holds(a.attribute(Integer.class), 0);
      boolean floating = a.input(0).type().isFloating();
      return comparison(
          value, floating && nan ? relation.orUnordered() : relation, a.input(0), a.input(1));
    }
    if (a.is(Op.SELECT)
        && b.is(Op.CONSTANT)
        && a.input(1).is(Op.CONSTANT)
        && a.input(2).is(Op.CONSTANT)) {
      boolean yes = holds(value, a.input(1), b);
      boolean no = holds(value, a.input(2), b);
      return yes == no
          ? Value.constant(yes)
          : yes ? a.input(0) : BooleanRules.not(a.input(0), value);
    }
    if (a == b && a.type().isInteger()) {
      return Value.constant(relation.holds(0, 0));
    }
    boolean isEquality = relation == Relation.EQ || relation == Relation.NE;
    if (isEquality && a.is(Op.ADD) && a.input(0) == b && a.input(1).isIntegerConstant()) {
      return Value.constant(relation.holds(a.input(1).integer(), 0));
    }
    if (a.type().isInteger() && b.is(Op.CONSTANT)) {
      return byRange(relation, a, b);
    }
    return null;
  }

  /** Returns the condition that the ranges of the operands decide; null if they do not. */
  private static @Nullable Value byRange(Relation relation, Value a, Value b) {
    var range = Range.of(a);
    long bound = b.integer();
    return switch (relation) {
      case LT ->
          range.most() < bound
              ? Value.constant(true)
              : range.least() >= bound ? Value.constant(false) : null;
      case GE ->
          range.least() >= bound
              ? Value.constant(true)
              : range.most() < bound ? Value.constant(false) : null;
      case GT ->
          range.least() > bound
              ? Value.constant(true)
              : range.most() <= bound ? Value.constant(false) : null;
      case LE ->
          range.most() <= bound
              ? Value.constant(true)
              : range.least() > bound ? Value.constant(false) : null;
      default -> null;
    };
  }

  private static boolean holds(Value comparison, Value a, Value b) {
    var folded = ConstantFolder.fold(comparison.with(List.of(a, b)));
    return folded != null && folded.isConstant(true);
  }

  static Value comparison(Value at, Relation relation, Value a, Value b) {
    return new Value(Op.COMPARE, ValueType.BOOL, List.of(a, b), relation, at.source());
  }

  private static @Nullable Value convert(Value value) {
    var from = value.input(0);
    if (from.type() == value.type()) {
      return from;
    }
    if (from.is(Op.CONVERT) && isExact(from.input(0).type(), from.type())) {
      var origin = from.input(0);
      if (origin.type() == value.type()) {
        return origin;
      }
      if (isExact(origin.type(), value.type()) && from.type() != ValueType.LONG) {
        return new Value(Op.CONVERT, value.type(), List.of(origin), null, value.source());
      }
    }
    return value.type() == ValueType.FLOAT && from.type() == ValueType.DOUBLE
        ? inSinglePrecision(value, from)
        : null;
  }

  /**
   * Computes in float what is computed in double and rounded to float. Doubles have more than twice
   * the precision of floats plus two bits, so rounding twice gives the same result.
   */
  private static @Nullable Value inSinglePrecision(Value value, Value from) {
    return switch (from.op()) {
      case SQRT, FLOOR, CEIL, RINT, ABS, NEG, ADD, SUB, MUL ->
          from.inputs().stream().allMatch(Simplifier::isWidened)
              ? new Value(
                  from.op(),
                  ValueType.FLOAT,
                  from.inputs().stream().map(Simplifier::narrowed).toList(),
                  null,
                  value.source())
              : null;
      default -> null;
    };
  }

  private static boolean isWidened(Value value) {
    return (value.is(Op.CONVERT) && value.input(0).type() == ValueType.FLOAT)
        || (value.is(Op.CONSTANT)
            && (float) value.attribute(Double.class).doubleValue()
                == value.attribute(Double.class));
  }

  private static Value narrowed(Value value) {
    return value.is(Op.CONSTANT)
        ? Value.constant(ValueType.FLOAT, value.attribute(Double.class).floatValue())
        : value.input(0);
  }

  private static boolean isExact(ValueType from, ValueType to) {
    return switch (from) {
      case INT -> to == ValueType.LONG || to == ValueType.DOUBLE;
      case FLOAT -> to == ValueType.DOUBLE;
      default -> false;
    };
  }

  private static @Nullable Value narrow(Value value) {
    var range = Range.of(value.input(0));
    var element = value.attribute(Element.class);
    boolean fits =
        switch (element) {
          case BYTE -> range.least() >= Byte.MIN_VALUE && range.most() <= Byte.MAX_VALUE;
          case SHORT -> range.least() >= Short.MIN_VALUE && range.most() <= Short.MAX_VALUE;
          case CHAR -> range.least() >= 0 && range.most() <= Character.MAX_VALUE;
          default -> true;
        };
    return fits ? value.input(0) : null;
  }

  /** A store of a narrow element ignores the upper bits. */
  private static @Nullable Value store(Value value) {
    var stored = value.input(1);
    int bits = value.attribute(Access.class).element().memory().bits();
    return stored.is(Op.NARROW) && stored.attribute(Element.class).memory().bits() >= bits
        ? value.with(List.of(value.input(0), stored.input(0)))
        : null;
  }
}
