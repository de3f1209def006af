package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Comparison;
import org.jspecify.annotations.Nullable;

/** Lane functions of integers, by the names in the instruction table. */
final class Integers {

  private final Code code;

  Integers(Code code) {
    this.code = code;
  }

  /** Returns the value of a function; null if integers have none of this name. */
  @Nullable Value apply(String name, Sources s) {
    return switch (name) {
      case "add" -> code.add(s.next(), s.next());
      case "sub" -> code.sub(s.next(), s.next());
      case "mul" -> code.mul(s.next(), s.next());
      case "mad" -> code.add(code.mul(s.next(), s.next()), s.next());
      case "mulWide" -> wide(s.next(), s.next(), true);
      case "mulWideUnsigned" -> wide(s.next(), s.next(), false);
      case "madWide" -> code.add(wide(s.next(), s.next(), true), s.next());
      case "madWideUnsigned" -> code.add(wide(s.next(), s.next(), false), s.next());
      case "mulHigh" -> high(s.next(), s.next(), true);
      case "mulHighUnsigned" -> high(s.next(), s.next(), false);
      case "madHigh" -> code.add(high(s.next(), s.next(), true), s.next());
      case "madHighUnsigned" -> code.add(high(s.next(), s.next(), false), s.next());
      case "mulHigh16" -> code.shr(code.mul(s.next(), s.next()), 16);
      case "madHigh16" -> code.add(code.shr(code.mul(s.next(), s.next()), 16), s.next());
      case "mul24" -> code.mul(code.field(s.next(), 24, true), code.field(s.next(), 24, true));
      case "mul24Unsigned" ->
          code.mul(code.field(s.next(), 24, false), code.field(s.next(), 24, false));
      case "mad24" ->
          code.add(
              code.mul(code.field(s.next(), 24, true), code.field(s.next(), 24, true)), s.next());
      case "mad24Unsigned" ->
          code.add(
              code.mul(code.field(s.next(), 24, false), code.field(s.next(), 24, false)), s.next());
      case "div" -> divide(s.next(), s.next(), true, Spirv.U_DIV);
      case "divUnsigned" -> divide(s.next(), s.next(), false, Spirv.U_DIV);
      case "rem" -> divide(s.next(), s.next(), true, Spirv.U_MOD);
      case "remUnsigned" -> divide(s.next(), s.next(), false, Spirv.U_MOD);
      case "abs" -> magnitude(s.next());
      case "neg" -> negate(s.next());
      case "min" -> extreme(Spirv.S_LESS_THAN, s.next(), s.next());
      case "minUnsigned" -> extreme(Spirv.U_LESS_THAN, s.next(), s.next());
      case "max" -> extreme(Spirv.S_GREATER_THAN, s.next(), s.next());
      case "maxUnsigned" -> extreme(Spirv.U_GREATER_THAN, s.next(), s.next());
      case "positive" -> extreme(Spirv.S_GREATER_THAN, s.first(), code.like(s.next(), 0));
      case "sad" -> difference(Spirv.S_LESS_THAN, s);
      case "sadUnsigned" -> difference(Spirv.U_LESS_THAN, s);
      case "addSaturating" -> saturating(s.next(), s.next(), Spirv.I_ADD);
      case "subSaturating" -> saturating(s.next(), s.next(), Spirv.I_SUB);
      case "compare" -> compare(s, true);
      case "compareUnsigned" -> compare(s, false);
      case "selectBySign" -> {
        var a = s.next();
        var b = s.next();
        var c = s.next();
        var positive =
            c.isFloat()
                ? code.test(Spirv.F_ORD_GREATER_THAN_EQUAL, c, code.like(c, 0))
                : code.not(code.isNegative(c));
        yield code.select(positive, a, b);
      }
      default -> carried(name, s);
    };
  }

  /** Functions with the carry flag; a subtraction adds the complement, and 1 without a flag. */
  private @Nullable Value carried(String name, Sources s) {
    return switch (name) {
      case "carry" -> {
        var a = s.next();
        yield carry(a, s.next(), s);
      }
      case "addCarry" -> sum(s.next(), s.next(), s);
      case "subWithCarry" -> sum(s.next(), code.not(s.next()), s);
      case "subCarry" -> {
        var a = s.next();
        var b = s.next();
        yield s.isEmpty() ? code.not(code.below(a, b)) : carry(a, code.not(b), s);
      }
      case "mulCarry" -> carry(code.mul(s.next(), s.next()), s.next(), s);
      case "mulAddCarry" -> sum(code.mul(s.next(), s.next()), s.next(), s);
      case "mulHighCarry" -> carry(high(s.next(), s.next(), true), s.next(), s);
      case "mulHighCarryUnsigned" -> carry(high(s.next(), s.next(), false), s.next(), s);
      case "mulHighAddCarry" -> sum(high(s.next(), s.next(), true), s.next(), s);
      case "mulHighAddCarryUnsigned" -> sum(high(s.next(), s.next(), false), s.next(), s);
      default -> null;
    };
  }

  private Value sum(Value a, Value b, Sources s) {
    return code.add(code.add(a, b), code.select(s.next(), code.like(a, 1), code.like(a, 0)));
  }

  private Value carry(Value a, Value b, Sources s) {
    var sum = code.add(a, b);
    var over = code.below(sum, a);
    return s.isEmpty() ? over : code.or(over, code.and(s.next(), code.equal(sum, -1)));
  }

  private Value extreme(int comparison, Value a, Value b) {
    return code.select(code.test(comparison, a, b), a, b);
  }

  private Value difference(int less, Sources s) {
    var a = s.next();
    var b = s.next();
    var isLess = code.test(less, a, b);
    return code.add(s.next(), code.select(isLess, code.sub(b, a), code.sub(a, b)));
  }

  private Value wide(Value a, Value b, boolean signed) {
    return signed
        ? code.mul(code.op(Spirv.S_CONVERT, Scalar.U64, a), code.op(Spirv.S_CONVERT, Scalar.U64, b))
        : code.mul(code.resize(Scalar.U64, a), code.resize(Scalar.U64, b));
  }

  private Value high(Value a, Value b, boolean signed) {
    if (a.type() == Scalar.U32) {
      return code.high(wide(a, b, signed));
    }
    var highA = code.shr(a, 32);
    var highB = code.shr(b, 32);
    var lowA = code.and(a, 0xFFFF_FFFFL);
    var lowB = code.and(b, 0xFFFF_FFFFL);
    var middle = code.add(code.mul(highA, lowB), code.shr(code.mul(lowA, lowB), 32));
    var other = code.add(code.mul(lowA, highB), code.and(middle, 0xFFFF_FFFFL));
    var product =
        code.add(code.add(code.mul(highA, highB), code.shr(middle, 32)), code.shr(other, 32));
    if (!signed) {
      return product;
    }
    var less = code.sub(product, code.and(code.sar(a, 63), b));
    return code.sub(less, code.and(code.sar(b, 63), a));
  }

  Value negate(Value a) {
    return code.sub(code.like(a, 0), a);
  }

  Value magnitude(Value a) {
    return code.select(code.isNegative(a), negate(a), a);
  }

  /** Divides magnitudes, since the quotient of the least integer by -1 is undefined in SPIR-V. */
  private Value divide(Value a, Value b, boolean signed, int opcode) {
    var isZero = code.equal(b, 0);
    var divisor = code.select(isZero, code.like(b, 1), b);
    Value result;
    if (signed) {
      result = code.op(opcode, a.type(), magnitude(a), magnitude(divisor));
      var sign = opcode == Spirv.U_DIV ? code.xor(a, b) : a;
      result = code.select(code.isNegative(sign), negate(result), result);
    } else {
      result = code.op(opcode, a.type(), a, divisor);
    }
    return code.select(isZero, code.like(a, -1), result);
  }

  private Value saturating(Value a, Value b, int opcode) {
    var sum = code.op(opcode, Scalar.U64, code.extend(Scalar.U64, a), code.extend(Scalar.U64, b));
    var least = code.constant(Scalar.U64, Integer.MIN_VALUE);
    var greatest = code.constant(Scalar.U64, Integer.MAX_VALUE);
    var above = extreme(Spirv.S_GREATER_THAN, sum, least);
    return code.low(extreme(Spirv.S_LESS_THAN, above, greatest));
  }

  private Value compare(Sources s, boolean signed) {
    var a = s.next();
    var b = s.next();
    int opcode =
        switch (s.modifiers().find(Comparison.class).orElseThrow()) {
          case EQ -> Spirv.I_EQUAL;
          case NE -> Spirv.I_NOT_EQUAL;
          case LT, LO -> signed ? Spirv.S_LESS_THAN : Spirv.U_LESS_THAN;
          case LE, LS -> signed ? Spirv.S_LESS_THAN_EQUAL : Spirv.U_LESS_THAN_EQUAL;
          case GT, HI -> signed ? Spirv.S_GREATER_THAN : Spirv.U_GREATER_THAN;
          case GE, HS -> signed ? Spirv.S_GREATER_THAN_EQUAL : Spirv.U_GREATER_THAN_EQUAL;
          case EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN ->
              throw new IllegalArgumentException("integers have no such comparison");
        };
    return code.test(opcode, a, b);
  }
}
