package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Type;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import org.jspecify.annotations.Nullable;

/**
 * Lane functions of floating-point numbers, by the names in the instruction table.
 *
 * <p>Vulkan rounds sums and products correctly, but permits an error of 2.5 units in the last place
 * in quotients and roots of f32. Those that PTX rounds correctly are computed in f64, whose error
 * is too small to matter, or else corrected by a fused multiply-add.
 */
final class Floats {

  private static final int HALF_NAN = 0x7FFF;

  private final Code code;
  private final ShaderFeatures features;
  private final Frame frame;

  Floats(Frame frame) {
    this.frame = frame;
    this.code = frame.code;
    this.features = frame.features;
  }

  /** Returns the value of a function; null if floating-point numbers have none of this name. */
  @Nullable Value apply(String name, Sources s) {
    return switch (name) {
      case "add" -> code.add(s.next(), s.next());
      case "sub" -> code.sub(s.next(), s.next());
      case "mul" -> code.mul(s.next(), s.next());
      case "fma" -> fma(s.next(), s.next(), s.next());
      case "fmaToOdd" -> halfFma(s.next(), s.next(), s.next());
      case "addDirected" -> addDirected(s.next(), s.next(), s);
      case "subDirected" -> addDirected(s.next(), negative(s.next()), s);
      case "mulDirected" -> fmaDirected(s.next(), s.next(), null, s);
      case "fmaDirected" -> fmaDirected(s.next(), s.next(), s.next(), s);
      case "div" -> s.has("full") ? code.div(s.next(), s.next()) : quotient(s.next(), s.next());
      case "divApprox" -> code.div(s.next(), s.next());
      case "reciprocal" -> {
        var one = code.like(s.first(), 1);
        yield s.has("approx") ? code.div(one, s.next()) : quotient(one, s.next());
      }
      case "sqrt" -> s.has("approx") ? root(s.next()) : exactRoot(s.next());
      case "reciprocalSqrt" -> code.div(code.like(s.first(), 1), root(s.next()));
      case "log2" -> code.function(Spirv.LOG2, Scalar.F32, s.next());
      case "exp2" -> code.function(Spirv.EXP2, Scalar.F32, s.next());
      case "sin" -> code.function(Spirv.SIN, Scalar.F32, s.next());
      case "cos" -> code.function(Spirv.COS, Scalar.F32, s.next());
      case "abs" -> magnitude(s.next());
      case "neg" -> negative(s.next());
      case "canonical" -> s.next();
      case "compare" -> compare(s.next(), s.next(), comparison(s));
      default -> extremes(name, s);
    };
  }

  private @Nullable Value extremes(String name, Sources s) {
    return switch (name) {
      case "min" -> extreme(true, s.next(), s.next());
      case "max" -> extreme(false, s.next(), s.next());
      case "minOrNan" -> orNan(true, s.next(), s.next());
      case "maxOrNan" -> orNan(false, s.next(), s.next());
      case "isNumber" -> code.not(code.isNan(s.next()));
      case "isNotNumber" -> code.isNan(s.next());
      case "isInfinite" -> code.test(Spirv.IS_INF, s.next());
      case "isFinite" ->
          code.not(code.or(code.isNan(s.first()), code.test(Spirv.IS_INF, s.next())));
      case "isSubnormal" -> {
        var isZero = code.equal(s.first(), 0);
        yield code.and(isSmall(s.next()), code.not(isZero));
      }
      case "copySign" -> {
        var sign = code.and(code.bits(s.first()), signBit(s.first()));
        s.next();
        yield code.number(s.first().type(), code.or(sign, code.bits(magnitude(s.next()))));
      }
      default -> null;
    };
  }

  private static Comparison comparison(Sources s) {
    return s.modifiers().find(Comparison.class).orElseThrow();
  }

  private Value compare(Value a, Value b, Comparison comparison) {
    return switch (comparison) {
      case EQ -> code.test(Spirv.F_ORD_EQUAL, a, b);
      case NE -> code.test(Spirv.F_ORD_NOT_EQUAL, a, b);
      case LT, LO -> code.test(Spirv.F_ORD_LESS_THAN, a, b);
      case LE, LS -> code.test(Spirv.F_ORD_LESS_THAN_EQUAL, a, b);
      case GT, HI -> code.test(Spirv.F_ORD_GREATER_THAN, a, b);
      case GE, HS -> code.test(Spirv.F_ORD_GREATER_THAN_EQUAL, a, b);
      case EQU -> code.test(Spirv.F_UNORD_EQUAL, a, b);
      case NEU -> code.test(Spirv.F_UNORD_NOT_EQUAL, a, b);
      case LTU -> code.test(Spirv.F_UNORD_LESS_THAN, a, b);
      case LEU -> code.test(Spirv.F_UNORD_LESS_THAN_EQUAL, a, b);
      case GTU -> code.test(Spirv.F_UNORD_GREATER_THAN, a, b);
      case GEU -> code.test(Spirv.F_UNORD_GREATER_THAN_EQUAL, a, b);
      case NAN -> code.or(code.isNan(a), code.isNan(b));
      case NUM -> code.not(code.or(code.isNan(a), code.isNan(b)));
    };
  }

  private Value signBit(Value a) {
    return code.constant(a.type().bits(), a.type() == Scalar.F32 ? 0x8000_0000L : Long.MIN_VALUE);
  }

  private Value magnitude(Value a) {
    return code.number(a.type(), code.and(code.bits(a), code.not(signBit(a))));
  }

  private Value negative(Value a) {
    return code.number(a.type(), code.xor(code.bits(a), signBit(a)));
  }

  /** Returns the number if the other is NaN; -0 is less than +0. */
  private Value extreme(boolean least, Value a, Value b) {
    var chosen = code.function(least ? Spirv.N_MIN : Spirv.N_MAX, a.type(), a, b);
    var bitsA = code.bits(a);
    var bitsB = code.bits(b);
    var zero = least ? code.or(bitsA, bitsB) : code.and(bitsA, bitsB);
    return code.select(code.equal(a, b), code.number(a.type(), zero), chosen);
  }

  private Value orNan(boolean least, Value a, Value b) {
    var isNan = code.or(code.isNan(a), code.isNan(b));
    return code.select(isNan, code.constant(Scalar.F32, 0x7FFF_FFFF), extreme(least, a, b));
  }

  // products and sums

  /** Multiplies and adds, rounded once. */
  private Value fma(Value a, Value b, Value c) {
    if (features.fusedMultiplyAdd() || a.type() == Scalar.F16) {
      var result = code.function(Spirv.FMA, a.type(), a, b, c);
      code.module.decorate(result.id(), Spirv.NO_CONTRACTION);
      return result;
    }
    if (a.type() == Scalar.F32) {
      var product = code.mul(code.toFloat(Scalar.F64, a), code.toFloat(Scalar.F64, b));
      return code.toFloat(Scalar.F32, sumToOdd(product, code.toFloat(Scalar.F64, c)));
    }
    var product = code.mul(a, b);
    var sum = code.add(product, c);
    var rest = sumToOdd(productError(a, b, product), error(product, c, sum));
    var exact = code.add(sum, rest);
    var isExact = code.equal(rest, 0);
    return code.select(code.or(isExact, code.not(isOrdinary(exact, rest))), sum, exact);
  }

  /** Adds two f64; an inexact sum is rounded to the neighbor with an odd last bit. */
  private Value sumToOdd(Value a, Value b) {
    var sum = code.add(a, b);
    var error = error(a, b, sum);
    var bits = code.bits(sum);
    var isInexact = code.test(Spirv.F_ORD_NOT_EQUAL, error, code.like(error, 0));
    var isEven = code.equal(code.and(bits, 1), 0);
    var isLess = code.isNegative(code.xor(bits, code.bits(error)));
    var odd = code.select(isLess, code.sub(bits, code.like(bits, 1)), code.add(bits, 1));
    return code.number(Scalar.F64, code.select(code.and(isInexact, isEven), odd, bits));
  }

  /** Returns the rounding error of a product of f64 (Dekker; the factors are split). */
  private Value productError(Value a, Value b, Value product) {
    var highA = upper(a);
    var highB = upper(b);
    var lowA = code.sub(a, highA);
    var lowB = code.sub(b, highB);
    var error = code.sub(code.mul(highA, highB), product);
    error = code.add(error, code.mul(highA, lowB));
    error = code.add(error, code.mul(lowA, highB));
    return code.add(error, code.mul(lowA, lowB));
  }

  /** Rounds an f64 to 26 bits, so that products of the parts are exact. */
  private Value upper(Value a) {
    return code.number(Scalar.F64, code.and(code.add(code.bits(a), 1L << 26), -1L << 27));
  }

  // quotients and roots

  private Value root(Value a) {
    return code.function(Spirv.SQRT, a.type(), a);
  }

  private Value quotient(Value a, Value b) {
    if (a.type() == Scalar.F64) {
      return code.div(a, b);
    }
    if (features.float64()) {
      return code.toFloat(
          Scalar.F32, code.div(code.toFloat(Scalar.F64, a), code.toFloat(Scalar.F64, b)));
    }
    var near = code.div(a, b);
    var rest = fma(negative(b), near, a);
    var better = fma(rest, code.div(code.like(b, 1), b), near);
    return code.select(isOrdinary(better, rest), better, near);
  }

  private Value exactRoot(Value a) {
    if (a.type() == Scalar.F64) {
      return root(a);
    }
    if (features.float64()) {
      return code.toFloat(Scalar.F32, root(code.toFloat(Scalar.F64, a)));
    }
    var near = root(a);
    var rest = fma(negative(near), near, a);
    var better = fma(rest, code.div(code.constant(Scalar.F32, 0x3F00_0000), near), near);
    return code.select(isOrdinary(better, rest), better, near);
  }

  /** Returns whether a corrected result is finite and its remainder a number. */
  private Value isOrdinary(Value result, Value rest) {
    var sum = code.add(code.sub(result, result), code.sub(rest, rest));
    return code.equal(sum, 0);
  }

  // directed rounding of f32

  private Value addDirected(Value a, Value b, Sources s) {
    requireWide(a);
    return sumDirected(code.toFloat(Scalar.F64, a), code.toFloat(Scalar.F64, b), s);
  }

  private Value fmaDirected(Value a, Value b, @Nullable Value c, Sources s) {
    requireWide(a);
    var product = code.mul(code.toFloat(Scalar.F64, a), code.toFloat(Scalar.F64, b));
    return c == null ? direct(product, s) : sumDirected(product, code.toFloat(Scalar.F64, c), s);
  }

  /** Rounds the exact sum of two f64; a sum of zero is negative if it is rounded down. */
  private Value sumDirected(Value a, Value b, Sources s) {
    var sum = direct(a, b, s);
    if (s.modifiers().find(Rounding.class).orElseThrow() != Rounding.RM) {
      return sum;
    }
    var isNegative =
        code.and(
            code.equal(code.add(a, b), 0),
            code.or(code.isNegative(code.bits(a)), code.isNegative(code.bits(b))));
    return code.select(isNegative, code.constant(Scalar.F32, 1L << 31), sum);
  }

  /** Rounds an f64 to f32 in the direction of the instruction. */
  Value direct(Value a, Sources s) {
    return direct(a, code.constant(Scalar.F64, Long.MIN_VALUE), s); // the negative zero
  }

  private void requireWide(Value a) {
    if (a.type() == Scalar.F64 || !features.float64()) {
      throw new UnsupportedKernelException(
          "it rounds %s in a given direction, %s"
              .formatted(
                  a.type() == Scalar.F64 ? "f64" : "f32",
                  a.type() == Scalar.F64
                      ? "but shaders only round to the nearest number"
                      : "which needs a device with f64"));
    }
  }

  private Value direct(Value a, Value b, Sources s) {
    var sum = code.add(a, b);
    var error = error(a, b, sum);
    var near = code.toFloat(Scalar.F32, sum);
    var wide = code.toFloat(Scalar.F64, near);
    var same = code.equal(sum, wide);
    var zero = code.like(error, 0);
    var below =
        code.or(
            code.test(Spirv.F_ORD_LESS_THAN, sum, wide),
            code.and(same, code.test(Spirv.F_ORD_LESS_THAN, error, zero)));
    var above =
        code.or(
            code.test(Spirv.F_ORD_GREATER_THAN, sum, wide),
            code.and(same, code.test(Spirv.F_ORD_GREATER_THAN, error, zero)));
    var bits = code.bits(near);
    var negative = code.isNegative(bits);
    var inward = code.sub(bits, code.u32(1));
    var outward = code.add(bits, 1);
    var isZero = code.equal(near, 0);
    var up = code.select(isZero, code.u32(1), code.select(negative, inward, outward));
    var down = code.select(isZero, code.u32(0x8000_0001), code.select(negative, outward, inward));
    var rounded =
        switch (s.modifiers().find(Rounding.class).orElseThrow()) {
          case RM -> code.select(below, down, bits);
          case RP -> code.select(above, up, bits);
          default ->
              code.select(negative, code.select(above, up, bits), code.select(below, down, bits));
        };
    return code.number(Scalar.F32, rounded);
  }

  /** Returns the rounding error of a sum (Knuth, Two-Sum). */
  private Value error(Value a, Value b, Value sum) {
    var part = code.sub(sum, a);
    return code.add(code.sub(a, code.sub(sum, part)), code.sub(b, part));
  }

  /** Multiplies and adds f16, rounded once. */
  private Value halfFma(Value a, Value b, Value c) {
    if (!features.float16()) {
      throw new UnsupportedKernelException(
          "it has a fused multiply-add of f16, which needs a device with arithmetic of f16");
    }
    var narrow =
        fma(code.toFloat(Scalar.F16, a), code.toFloat(Scalar.F16, b), code.toFloat(Scalar.F16, c));
    return code.toFloat(Scalar.F32, narrow);
  }

  // filters of sources and results

  private Value isSmall(Value a) {
    boolean isFloat = a.type() == Scalar.F32;
    var exponent = code.constant(a.type().bits(), isFloat ? 0x7F80_0000L : 0x7FF0_0000_0000_0000L);
    return code.equal(code.and(code.bits(a), exponent), 0);
  }

  /** Flushes numbers below the least normal one of a type to zero. */
  Value flush(Value a, Type type) {
    var zero = code.number(a.type(), code.and(code.bits(a), signBit(a)));
    if (type == Type.F16) {
      var least = code.constant(Scalar.F32, Float.floatToRawIntBits(0x1p-14f - 0x1p-26f));
      var isSmall = code.test(Spirv.F_ORD_LESS_THAN, magnitude(a), least);
      return code.select(isSmall, zero, a);
    }
    return code.select(isSmall(a), zero, a);
  }

  /** Clamps to [+0, 1]; NaN becomes +0. */
  Value saturate(Value a) {
    var zero = code.like(a, 0);
    var one = code.like(a, 1);
    var least = code.select(code.test(Spirv.F_ORD_LESS_THAN, a, one), a, one);
    return code.select(code.test(Spirv.F_ORD_GREATER_THAN, a, zero), least, zero);
  }

  /** Replaces negative numbers by +0; keeps NaN. */
  Value relu(Value a) {
    var zero = code.like(a, 0);
    return code.select(code.test(Spirv.F_ORD_LESS_THAN_EQUAL, a, zero), zero, a);
  }

  // formats

  /** Returns the number with the bits of a type; other types keep their bits. */
  Value decode(Value bits, Type type) {
    return switch (type) {
      case F64 -> code.number(Scalar.F64, frame.hide(bits));
      case F32, TF32 -> code.number(Scalar.F32, frame.hide(bits));
      case BF16 -> code.number(Scalar.F32, code.shl(bits, 16));
      case F16 -> {
        var module = code.module;
        int number = module.scalar(Scalar.F32);
        int pair =
            code.result(
                Spirv.EXT_INST,
                module.vector(number, 2),
                module.instructionSet(),
                Spirv.UNPACK_HALF_2X16,
                bits.id());
        yield new Value(code.result(Spirv.COMPOSITE_EXTRACT, number, pair, 0), Scalar.F32);
      }
      case E4M3, E5M2, E4M3X2, E5M2X2 ->
          throw new UnsupportedKernelException("it computes with f8");
      default -> bits;
    };
  }

  /** Returns the bits of a number in a type. */
  Value encode(Value number, Type type, Rounding rounding) {
    if (type != Type.F16 && type != Type.BF16) {
      return code.bits(number);
    }
    if (rounding != Rounding.RN) {
      throw new UnsupportedKernelException(
          "it rounds to %s with .%s; only .rn is supported"
              .formatted(type.word(), rounding.word()));
    }
    var narrow = number.type() == Scalar.F64 ? roundToOdd(number) : number;
    return type == Type.F16 ? half(narrow) : bfloat(narrow);
  }

  /** Rounds to f32 so that a second rounding is that of the f64. */
  private Value roundToOdd(Value a) {
    var near = code.toFloat(Scalar.F32, a);
    var wide = code.toFloat(Scalar.F64, near);
    var bits = code.bits(near);
    var isOutward = code.test(Spirv.F_ORD_GREATER_THAN, magnitude(wide), magnitude(a));
    var truncated = code.select(isOutward, code.sub(bits, code.u32(1)), bits);
    var isInexact = code.test(Spirv.F_ORD_NOT_EQUAL, wide, a);
    return code.number(Scalar.F32, code.select(isInexact, code.or(truncated, code.u32(1)), bits));
  }

  private Value bfloat(Value a) {
    var bits = code.bits(a);
    var last = code.and(code.shr(bits, 16), 1);
    var rounded = code.shr(code.add(code.add(bits, 0x7FFF), last), 16);
    return code.select(code.isNan(a), code.u32(0x7FFF), rounded);
  }

  /**
   * Rounds to f16 with integers, since Vulkan does not say how its conversions round. A subnormal
   * result is what the addition of a half rounds to.
   */
  private Value half(Value a) {
    var bits = code.bits(a);
    var sign = code.and(code.shr(bits, 16), 0x8000);
    var size = code.and(bits, 0x7FFF_FFFF);
    var last = code.and(code.shr(size, 13), 1);
    var bias = code.u32(((15 - 127) << 23) + 0xFFF);
    var normal = code.shr(code.add(code.add(size, bias), last), 13);
    var half = code.constant(Scalar.F32, 0x3F00_0000);
    var sum = code.bits(code.add(code.number(Scalar.F32, size), half));
    var small = code.sub(sum, code.u32(0x3F00_0000));
    var finite = code.select(code.below(size, 0x3880_0000), small, normal);
    var isNan = code.below(code.u32(0x7F80_0000), size);
    var all = code.select(code.below(size, 0x4780_0000), finite, code.u32(0x7C00));
    return code.select(isNan, code.u32(HALF_NAN), code.or(sign, all));
  }
}
