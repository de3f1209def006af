package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Type;
import org.jspecify.annotations.Nullable;

/** Lane functions of conversions, by the names in the instruction table. */
final class Conversions {

  private final Code code;
  private final Floats floats;

  Conversions(Code code, Floats floats) {
    this.code = code;
    this.floats = floats;
  }

  /** Returns the value of a function; null if conversions have none of this name. */
  @Nullable Value apply(String name, Sources s) {
    var types = s.modifiers().types();
    var to = types.getFirst();
    boolean wide = to.bits() == 64;
    return switch (name) {
      case "identity" ->
          s.first().isFloat() || !wide ? s.next() : code.extend(Scalar.U64, s.next());
      case "zeroExtend" -> wide ? code.resize(Scalar.U64, s.next()) : s.next();
      case "clamp" -> clamp(s.next(), to);
      case "clampUnsigned" -> clampUnsigned(s.next(), to);
      case "toFloat", "toDoubleToOdd" -> code.op(Spirv.CONVERT_S_TO_F, Scalar.F32, s.next());
      case "toFloatUnsigned", "toDoubleToOddUnsigned" ->
          code.op(Spirv.CONVERT_U_TO_F, Scalar.F32, s.next());
      case "toDouble" -> code.op(Spirv.CONVERT_S_TO_F, Scalar.F64, s.next());
      case "toDoubleUnsigned" -> code.op(Spirv.CONVERT_U_TO_F, Scalar.F64, s.next());
      case "widen", "widenHalf" -> code.toFloat(Scalar.F64, s.next());
      case "narrow" -> code.toFloat(Scalar.F32, s.next());
      case "narrowHalf", "canonical" -> s.next();
      case "narrowDirected" -> floats.direct(s.next(), s);
      case "toFloatDirected" -> directed(s.next(), true, rounding(s));
      case "toFloatDirectedUnsigned" -> directed(s.next(), false, rounding(s));
      case "integral" -> integral(s.next(), rounding(s));
      case "toInt", "toLong", "toIntUnsigned", "toInteger" -> {
        var from = types.getLast();
        yield integer(integral(s.first(), rounding(s)), s.next(), from, to);
      }
      case "packHalves" -> {
        var high = clamp(s.next(), to);
        var low = clamp(s.next(), to);
        yield code.or(code.shl(high, 16), code.and(low, 0xFFFF));
      }
      case "packBytes" -> {
        var high = code.and(clamp(s.next(), to), 0xFF);
        var low = code.and(clamp(s.next(), to), 0xFF);
        yield code.or(code.shl(s.next(), 16), code.or(code.shl(high, 8), low));
      }
      default -> null;
    };
  }

  /** Converts an integer to f32, rounded in a direction. */
  private Value directed(Value a, boolean signed, Rounding rounding) {
    var negative = signed ? code.isNegative(a) : code.bool(false);
    var magnitude = code.select(negative, code.sub(code.like(a, 0), a), a);
    var near = code.op(Spirv.CONVERT_U_TO_F, Scalar.F32, magnitude);
    // the conversion back is undefined beyond the range
    var limit = power(near, Math.scalb(1.0, a.type().width()));
    var isLimit = code.test(Spirv.F_ORD_GREATER_THAN_EQUAL, near, limit);
    var safe = code.select(isLimit, power(near, 0), near);
    var back = code.op(Spirv.CONVERT_F_TO_U, a.type(), safe);
    var isHigh = code.or(isLimit, code.below(magnitude, back));
    var isLow = code.and(code.not(isLimit), code.below(back, magnitude));
    var bits = code.bits(near);
    var inward = code.select(isHigh, code.sub(bits, code.u32(1)), bits);
    var outward = code.select(isLow, code.add(bits, 1), bits);
    var rounded =
        switch (rounding) {
          case RM -> code.select(negative, outward, inward);
          case RP -> code.select(negative, inward, outward);
          default -> inward;
        };
    var sign = code.select(negative, code.u32(1 << 31), code.u32(0));
    return code.number(Scalar.F32, code.or(rounded, sign));
  }

  private static Rounding rounding(Sources s) {
    return s.modifiers().find(Rounding.class).orElseThrow();
  }

  private Value integral(Value a, Rounding rounding) {
    int function =
        switch (rounding) {
          case RN, RNI, RNA -> Spirv.ROUND_EVEN;
          case RZ, RZI -> Spirv.TRUNC;
          case RM, RMI -> Spirv.FLOOR;
          case RP, RPI -> Spirv.CEIL;
        };
    return code.function(function, a.type(), a);
  }

  /** Clamps a signed number to the range of a type. */
  private Value clamp(Value a, Type to) {
    if (!Frame.isSigned(to)) {
      var positive = code.select(code.isNegative(a), code.like(a, 0), a);
      return clampUnsigned(positive, to);
    }
    long greatest = Long.MAX_VALUE >> (64 - to.bits());
    var most = code.like(a, greatest);
    var least = code.like(a, -greatest - 1);
    var below = code.select(code.test(Spirv.S_LESS_THAN, a, least), least, a);
    return code.select(code.test(Spirv.S_GREATER_THAN, below, most), most, below);
  }

  private Value clampUnsigned(Value a, Type to) {
    int bits = Frame.isSigned(to) ? to.bits() - 1 : to.bits();
    return bits < a.type().width() ? code.minUnsigned(a, code.like(a, -1L >>> (64 - bits))) : a;
  }

  /**
   * Converts an integral number, saturated. NaN becomes the type's top bit where f64 or 64 bits are
   * involved, else 0.
   */
  private Value integer(Value whole, Value given, Type from, Type to) {
    boolean signed = Frame.isSigned(to);
    int bits = to.bits();
    var type = bits == 64 ? Scalar.U64 : Scalar.U32;
    long greatest = signed ? Long.MAX_VALUE >> (64 - bits) : -1L >>> (64 - bits);
    long least = signed ? -greatest - 1 : 0;
    var low = power(whole, signed ? -Math.scalb(1.0, bits - 1) : 0);
    var high = power(whole, Math.scalb(1.0, signed ? bits - 1 : bits));
    var isLow = code.test(Spirv.F_UNORD_LESS_THAN, whole, low);
    var isHigh = code.test(Spirv.F_ORD_GREATER_THAN_EQUAL, whole, high);
    // the conversion is undefined beyond the range
    var safe = code.select(code.or(isLow, isHigh), power(whole, 0), whole);
    var converted = code.op(signed ? Spirv.CONVERT_F_TO_S : Spirv.CONVERT_F_TO_U, type, safe);
    var result = code.select(isLow, code.constant(type, least), converted);
    result = code.select(isHigh, code.constant(type, greatest), result);
    long nan = bits == 64 || from == Type.F64 ? 1L << (bits - 1) : 0;
    return code.select(code.isNan(given), code.constant(type, nan), result);
  }

  private Value power(Value like, double value) {
    return code.constant(
        like.type(),
        like.type() == Scalar.F64
            ? Double.doubleToRawLongBits(value)
            : Float.floatToRawIntBits((float) value));
  }
}
