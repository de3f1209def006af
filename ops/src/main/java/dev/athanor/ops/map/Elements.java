package dev.athanor.ops.map;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;

/**
 * Converts elements to and from the types of arithmetic. A kernel loads an element as its {@link
 * #type}, widens it to a register type that represents it exactly (f32, f64, s32, u32 or s64), and
 * narrows the result to the dtype that it stores, rounded once.
 */
public final class Elements {

  private final KernelBuilder k;

  public Elements(KernelBuilder k) {
    this.k = k;
  }

  /** Returns the PTX type of an element in memory. */
  public static Type type(DType dtype) {
    return switch (dtype) {
      case F64 -> Type.F64;
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      case I64 -> Type.S64;
      case I32 -> Type.S32;
      case I16 -> Type.S16;
      case I8 -> Type.S8;
      case U32 -> Type.U32;
      case E4M3, E5M2, U8, BOOL -> Type.U8;
      default -> throw new IllegalArgumentException(dtype.text() + " is stored in blocks");
    };
  }

  /** Converts a loaded element to a register type, exactly. */
  public Value widen(DType dtype, Value element) {
    return switch (dtype) {
      case F64, F32, F16, BF16 -> element.widen();
      case E4M3, E5M2 -> smallFloat(dtype, element.integer());
      case I16, I8 -> element.integer().value();
      case U8, BOOL -> element.integer().value().as(Type.U32);
      default -> element;
    };
  }

  /**
   * Converts a number to an element of a dtype as a cast without attributes does: floats round to
   * nearest even, a NaN becomes integer 0, and a bool is 1 except for 0.
   */
  public Value narrow(DType dtype, Value number) {
    return narrow(dtype, number, Conversion.usual(dtype));
  }

  /** Converts a number to an element of a dtype. */
  public Value narrow(DType dtype, Value number, Conversion conversion) {
    return switch (dtype) {
      case F64 -> saturated(dtype, toFloat(Type.F64, number), conversion);
      case F32 -> toFloat(Type.F32, saturated(dtype, number, conversion));
      case F16 ->
          toFloat(
              Type.F16,
              conversion.saturate() ? saturated(dtype, toF32(number), conversion) : number);
      case BF16 -> ((Real) saturated(dtype, toF32(number), conversion)).to(Type.BF16);
      case E4M3, E5M2 -> smallFloat(dtype, toF32(number), conversion.saturate());
      case BOOL -> isNotZero(number);
      default -> toInteger(type(dtype), number, conversion.fraction());
    };
  }

  /** Clamps a number to the finite range of a dtype if the conversion saturates. */
  private static Value saturated(DType dtype, Value number, Conversion conversion) {
    if (!conversion.saturate() || !(number instanceof Real real)) {
      return number;
    }
    var clamped = real.max(real.constant(-dtype.greatest())).min(real.constant(dtype.greatest()));
    return real.where(real.isNan(), clamped);
  }

  private Value toFloat(Type type, Value number) {
    return number instanceof Real real
        ? real.to(type)
        : k.compute(type, "cvt.rn.%s.%s".formatted(type.word(), number.type().word()), number);
  }

  /**
   * Converts a number to f32 by rounding to odd: if f32 cannot represent it, it is truncated and
   * its last bit is set. A second rounding, to a type of at most 22 significant bits, then equals
   * rounding once.
   */
  private Real toF32(Value number) {
    if (number.type() == Type.F32) {
      return (Real) number;
    }
    if (number instanceof Real real) {
      var cut = (Real) k.compute(Type.F32, "cvt.rz.f32.f64", real);
      var back = (Real) cut.to(Type.F64);
      var lost = k.integer(1).where(back.lt(real).or(back.gt(real)), k.integer(0));
      return (Real) cut.bits().or(lost).value().as(Type.F32);
    }
    var whole = number.wide();
    var cut = k.compute(Type.F32, "cvt.rz.f32.s64", whole.value());
    var back = k.compute(Type.S64, "cvt.rzi.s64.f32", cut).wide();
    var lost = k.integer(1).where(back.ne(whole), k.integer(0));
    return (Real) cut.bits().or(lost).value().as(Type.F32);
  }

  private Value toInteger(Type type, Value number, Conversion.Fraction fraction) {
    if (number instanceof Real real) {
      // from f64, and to s64, cvt does not convert a NaN to 0
      var finite = real.constant(0).where(real.isNan(), real);
      var wide = type == Type.S64 || type == Type.U32 ? Type.S64 : Type.S32;
      var rounded =
          k.compute(
              wide,
              "cvt.%s.%s.%s".formatted(fraction.modifier(), wide.word(), real.type().word()),
              finite);
      return toInteger(type, rounded, fraction);
    }
    var from = number.type();
    if (from == type) {
      return number;
    }
    boolean signed = from.kind() == Type.Kind.SIGNED;
    boolean toSigned = type.kind() == Type.Kind.SIGNED;
    boolean narrows =
        signed
            ? !toSigned || type.bits() < from.bits()
            : type.bits() < from.bits() || (toSigned && type.bits() == from.bits());
    return k.compute(
        type, "cvt.%s%s.%s".formatted(narrows ? "sat." : "", type.word(), from.word()), number);
  }

  private Value isNotZero(Value number) {
    if (number instanceof Real real) {
      return k.integer(0).where(real.eq(0), k.integer(1)).value();
    }
    var whole = number.wide();
    return k.integer(1).where(whole.ne(k.wide(0)), k.integer(0)).value();
  }

  /** Returns the number of fraction bits of an 8-bit float. */
  private static int fractionBits(DType dtype) {
    return dtype == DType.E4M3 ? 3 : 2;
  }

  /** Returns the exponent of the least normal number of an 8-bit float. */
  private static int leastExponent(DType dtype) {
    return dtype == DType.E4M3 ? -6 : -14;
  }

  /** Decodes an e4m3 or e5m2 number (OCP 8-bit floating point specification 1.0). */
  private Real smallFloat(DType dtype, Int bits) {
    if (dtype == DType.E5M2) {
      return bits.shl(8).value().as(Type.B32).halves(Type.F16).getFirst().widen();
    }
    // Shift the exponent and the fraction to their positions in f32. Only the bias differs:
    // multiply by a power of two, which is also correct for subnormal numbers.
    int shift = 23 - fractionBits(dtype);
    var magnitude = bits.and(0x7F);
    var sign = bits.and(0x80).shl(24);
    var scaled =
        ((Real) magnitude.shl(shift).or(sign).value().as(Type.F32))
            .times(Math.scalb(1.0, 126 + leastExponent(dtype)));
    return scaled.constant(Double.NaN).where(magnitude.eq(0x7F), scaled);
  }

  private Value smallFloat(DType dtype, Real number, boolean saturate) {
    int shift = 23 - fractionBits(dtype);
    var bits = number.bits();
    var magnitude = bits.and(0x7FFF_FFFF);
    // add half of the last place, or less where a tie must round down to even
    var rounded = magnitude.plus(magnitude.bits(shift, 1)).plus((1 << (shift - 1)) - 1);
    var normal = rounded.shr(shift).plus(-(126 + leastExponent(dtype)) << fractionBits(dtype));
    // the last place of this number is the least subnormal number, so adding it rounds
    float last = Math.scalb(1f, 23 + leastExponent(dtype) - fractionBits(dtype));
    var subnormal = number.abs().plus(last).bits().plus(-Float.floatToIntBits(last));
    var least = Math.scalb(1.0, leastExponent(dtype));
    // the code after the greatest number is infinity in e5m2, NaN in e4m3
    int greatest = (dtype == DType.E4M3 ? 0x7E : 0x7B) + (saturate ? 0 : 1);
    var ordered = subnormal.where(number.abs().lt(least), normal).min(k.integer(greatest));
    var code = k.integer(0x7F).where(number.isNan(), ordered);
    return code.or(bits.shr(24).and(0x80)).value();
  }
}
