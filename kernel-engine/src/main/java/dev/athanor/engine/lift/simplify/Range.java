package dev.athanor.engine.lift.simplify;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.ArgumentValue;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.List;

/** A range that holds all values of an integer, as far as its operations tell. */
public record Range(long least, long most) {

  private static final int DEPTH = 6;
  private static final Range INT = new Range(Integer.MIN_VALUE, Integer.MAX_VALUE);
  private static final Range LONG = new Range(Long.MIN_VALUE, Long.MAX_VALUE);

  public boolean isNonNegative() {
    return least >= 0;
  }

  /** Returns the range of an integer value. */
  public static Range of(Value value) {
    return of(value, List.of());
  }

  /**
   * Returns the range of an integer value in blocks of a shape.
   *
   * @param shape three extents; empty if they are not known
   */
  public static Range of(Value value, List<Integer> shape) {
    return of(value, shape, DEPTH);
  }

  private static Range of(Value value, List<Integer> shape, int depth) {
    var all = value.type() == ValueType.LONG ? LONG : INT;
    if (value.isIntegerConstant()) {
      return new Range(value.integer(), value.integer());
    }
    if (depth == 0 || !value.type().isInteger()) {
      return all;
    }
    return switch (value.op()) {
      case SPECIAL -> ofSpecial(value.attribute(SpecialRegister.class), shape);
      case ARGUMENT ->
          value.attribute(ArgumentValue.class).part() == ArgumentValue.Part.LENGTH
              ? new Range(0, all.most)
              : all;
      case LOAD -> ofElement(value.attribute(Access.class).element(), all);
      case NARROW -> ofElement(value.attribute(Element.class), all);
      case CONVERT ->
          value.input(0).type() == ValueType.INT ? of(value.input(0), shape, depth - 1) : all;
      case SELECT ->
          of(value.input(1), shape, depth - 1).union(of(value.input(2), shape, depth - 1));
      case ADD, SUB, MUL, MIN, MAX, AND, SHL, SHR, USHR, DIV, REM ->
          binary(value, shape, depth, all);
      default -> all;
    };
  }

  private static Range ofElement(Element element, Range all) {
    return switch (element) {
      case CHAR -> new Range(0, Character.MAX_VALUE);
      case BYTE -> new Range(Byte.MIN_VALUE, Byte.MAX_VALUE);
      case SHORT -> new Range(Short.MIN_VALUE, Short.MAX_VALUE);
      case BOOLEAN -> new Range(0, 1);
      default -> all;
    };
  }

  private static Range ofSpecial(SpecialRegister register, List<Integer> shape) {
    return switch (register) {
      case TID_X -> new Range(0, shape.isEmpty() ? 1023 : shape.get(0) - 1);
      case TID_Y -> new Range(0, shape.isEmpty() ? 1023 : shape.get(1) - 1);
      case TID_Z -> new Range(0, shape.isEmpty() ? 63 : shape.get(2) - 1);
      case NTID_X, NTID_Y -> new Range(1, 1024);
      case NTID_Z -> new Range(1, 64);
      case CTAID_X -> new Range(0, Integer.MAX_VALUE - 1);
      case CTAID_Y, CTAID_Z -> new Range(0, 65_534);
      case NCTAID_X -> new Range(1, Integer.MAX_VALUE);
      case NCTAID_Y, NCTAID_Z -> new Range(1, 65_535);
      case LANEID -> new Range(0, 31);
      default -> INT;
    };
  }

  private static Range binary(Value value, List<Integer> shape, int depth, Range all) {
    var a = of(value.input(0), shape, depth - 1);
    var b = of(value.input(1), shape, depth - 1);
    boolean small = a.isSmall() && b.isSmall();
    return switch (value.op()) {
      case ADD -> small ? new Range(a.least + b.least, a.most + b.most).within(all) : all;
      case SUB -> small ? new Range(a.least - b.most, a.most - b.least).within(all) : all;
      case MUL ->
          small && a.least >= 0 && b.least >= 0
              ? new Range(a.least * b.least, a.most * b.most).within(all)
              : all;
      case MIN -> new Range(Math.min(a.least, b.least), Math.min(a.most, b.most));
      case MAX -> new Range(Math.max(a.least, b.least), Math.max(a.most, b.most));
      case AND ->
          b.least >= 0
              ? new Range(0, a.least >= 0 ? Math.min(a.most, b.most) : b.most)
              : a.least >= 0 ? new Range(0, a.most) : all;
      case SHL ->
          small && a.least >= 0 && value.input(1).isIntegerConstant() && b.least >= 0 && b.most < 31
              ? new Range(a.least << b.least, a.most << b.least).within(all)
              : all;
      case SHR, USHR ->
          a.least >= 0 && value.input(1).isIntegerConstant() && b.least >= 0 && b.most < 32
              ? new Range(a.least >> b.least, a.most >> b.least)
              : all;
      case DIV -> a.least >= 0 && b.least > 0 ? new Range(a.least / b.most, a.most / b.least) : all;
      case REM -> a.least >= 0 && b.least > 0 ? new Range(0, Math.min(a.most, b.most - 1)) : all;
      default -> all;
    };
  }

  /** Returns whether sums and products of two such ranges do not overflow a long. */
  private boolean isSmall() {
    return least >= Integer.MIN_VALUE && most <= Integer.MAX_VALUE;
  }

  /** Returns this range if the type holds it, else all values of the type. */
  private Range within(Range all) {
    return least >= all.least && most <= all.most ? this : all;
  }

  private Range union(Range other) {
    return new Range(Math.min(least, other.least), Math.max(most, other.most));
  }
}
