package dev.athanor.ops.expression;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;

/**
 * Operations on integers in registers of type s32, u32 or s64. The results wrap: they are the low
 * bits, sign- or zero-extended.
 */
final class Integers {

  private static final int WIDE = 64;

  private final KernelBuilder k;
  private final DType dtype;
  private final Type type;

  Integers(KernelBuilder k, DType dtype) {
    this.k = k;
    this.dtype = dtype;
    type = type(dtype);
  }

  /** Returns the type of the registers of an integer dtype. */
  static Type type(DType dtype) {
    return switch (dtype) {
      case I64 -> Type.S64;
      case U8, U32, BOOL -> Type.U32;
      default -> Type.S32;
    };
  }

  private boolean isWide() {
    return type == Type.S64;
  }

  private boolean isUnsigned() {
    return type == Type.U32;
  }

  private Value emit(String opcode, Value... operands) {
    return k.compute(type, opcode, operands);
  }

  private String signed(String opcode) {
    return opcode + (isWide() ? ".s64" : ".s32");
  }

  private String ordered(String opcode) {
    return "%s.%s".formatted(opcode, type.word());
  }

  private String bits(String opcode) {
    return opcode + (isWide() ? ".b64" : ".b32");
  }

  /** Returns the low bits of a result, extended. */
  private Value wrap(Value result) {
    int width = 8 * dtype.bytes();
    if (width >= type.bits()) {
      return result;
    }
    var whole = result.integer();
    return isUnsigned()
        ? whole.bits(0, width).value().as(Type.U32)
        : whole.signedBits(0, width).value();
  }

  Value constant(long value) {
    return isWide() ? k.wide(value).value() : k.integer((int) value).value().as(type);
  }

  Value apply(Function function, Value a, Value b, Value c) {
    return switch (function) {
      case BIT_OR -> emit(bits("or"), a, b);
      case BIT_XOR -> emit(bits("xor"), a, b);
      case BIT_AND -> emit(bits("and"), a, b);
      case BIT_NOT -> wrap(emit(bits("not"), a));
      case SHIFT_LEFT -> wrap(emit(bits("shl"), a, amount(b)));
      case SHIFT_RIGHT -> emit(ordered("shr"), a, amount(b));
      case ADD -> wrap(emit(signed("add"), a, b));
      case SUBTRACT -> wrap(emit(signed("sub"), a, b));
      case MULTIPLY -> wrap(emit(signed("mul.lo"), a, b));
      case FMA -> wrap(emit(signed("add"), emit(signed("mul.lo"), a, b), c));
      case FLOOR_DIVIDE -> wrap(isUnsigned() ? unsignedQuotient(a, b) : quotient(a, b));
      case MODULO -> isUnsigned() ? emit("rem.u32", a, nonzero(b)) : remainder(a, b);
      case NEGATE -> wrap(emit(signed("neg"), a));
      case ABS -> isUnsigned() ? a : wrap(emit(signed("abs"), a));
      case SIGN ->
          isUnsigned()
              ? emit(ordered("min"), a, constant(1))
              : emit(ordered("max"), emit(ordered("min"), a, constant(1)), constant(-1));
      case MIN -> emit(ordered("min"), a, b);
      case MAX -> emit(ordered("max"), a, b);
      case CLAMP -> emit(ordered("min"), emit(ordered("max"), a, b), c);
      case RELU -> isUnsigned() ? a : emit(ordered("max"), a, constant(0));
      default -> throw new IllegalStateException(function + " of " + dtype.text());
    };
  }

  /** Returns the amount of a shift; one that is negative or too large becomes large. */
  private Value amount(Value b) {
    if (!isWide()) {
      return b; // shl and shr clamp an unsigned amount
    }
    var amount = b.wide();
    var inside = amount.ge(k.wide(0)).and(amount.lt(k.wide(WIDE)));
    return amount.narrow().where(inside, k.integer(WIDE)).value();
  }

  private Value nonzero(Value b) {
    return select(equal(b, constant(0)), constant(1), b);
  }

  private Value unsignedQuotient(Value a, Value b) {
    var quotient = emit("div.u32", a, nonzero(b));
    return select(equal(b, constant(0)), constant(0), quotient);
  }

  /** Returns a divisor by which every number can be divided: 1 in place of 0 and -1. */
  private Value divisor(Value b) {
    var unsafe = equal(b, constant(0)).or(equal(b, constant(-1)));
    return select(unsafe, constant(1), b);
  }

  private Value truncatedRemainder(Value a, Value divisor, Value quotient) {
    return emit(signed("sub"), a, emit(signed("mul.lo"), quotient, divisor));
  }

  private Predicate mustAdjust(Value rest, Value divisor) {
    var opposite = less(emit(bits("xor"), rest, divisor), constant(0));
    return opposite.and(equal(rest, constant(0)).not());
  }

  private Value quotient(Value a, Value b) {
    var divisor = divisor(b);
    var quotient = emit(ordered("div"), a, divisor);
    var rest = truncatedRemainder(a, divisor, quotient);
    var floor = select(mustAdjust(rest, b), emit(signed("sub"), quotient, constant(1)), quotient);
    var special = select(equal(b, constant(0)), constant(0), emit(signed("neg"), a));
    return select(equal(divisor, b), floor, special);
  }

  private Value remainder(Value a, Value b) {
    var divisor = divisor(b);
    var rest = truncatedRemainder(a, divisor, emit(ordered("div"), a, divisor));
    return select(mustAdjust(rest, b), emit(signed("add"), rest, b), rest);
  }

  Value select(Predicate condition, Value a, Value b) {
    return isWide()
        ? a.wide().where(condition, b.wide()).value()
        : a.integer().where(condition, b.integer()).value().as(type);
  }

  Predicate equal(Value a, Value b) {
    return isWide() ? a.wide().ne(b.wide()).not() : a.integer().eq(b.integer());
  }

  Predicate less(Value a, Value b) {
    return isWide() ? a.wide().lt(b.wide()) : ordered(a).lt(ordered(b));
  }

  /** Returns a signed integer in the order of the dtype's numbers. */
  private Int ordered(Value a) {
    return dtype == DType.U32 ? a.integer().xor(k.integer(Integer.MIN_VALUE)) : a.integer();
  }
}
