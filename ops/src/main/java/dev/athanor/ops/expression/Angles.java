package dev.athanor.ops.expression;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Type;

/**
 * Sine, cosine and tangent of f32 for all arguments, as {@link
 * dev.athanor.engine.lift.library.Trigonometry} computes them.
 */
final class Angles {

  /** The least magnitude that is reduced with all digits of 2/π. */
  private static final double LARGE = 71_476;

  /** Words of 2/π, shifted right by 2 bits; word 0 is before the point. */
  private static final int[] TWO_OVER_PI = {
    0, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410, 0x7f9458ea
  };

  /** The greatest number of the first word that an f32 needs. */
  private static final int MAX_WORD = 4;

  private final KernelBuilder k;

  Angles(KernelBuilder k) {
    this.k = k;
  }

  Real sin(Real x) {
    return reduce(x).sine(0);
  }

  Real cos(Real x) {
    return reduce(x).sine(1);
  }

  Real tan(Real x) {
    return reduce(x).tangent();
  }

  /**
   * An angle.
   *
   * @param quarters number of quarter turns
   * @param rest radians beyond them, from -π/4 to π/4
   */
  private record Turn(Int quarters, Real rest) {

    private Real sinePolynomial() {
      var square = rest.times(rest);
      var p =
          RealFunctions.polynomial(
              square, -0x1.555556p-3, 0x1.111182p-7, -0x1.a0690cp-13, 0x1.80a000p-19);
      return p.fma(rest.times(square), rest);
    }

    private Real cosinePolynomial() {
      return RealFunctions.polynomial(
          rest.times(rest), 1, -0.5, 0x1.555550p-5, -0x1.6c0efap-10, 0x1.9a8000p-16);
    }

    /** Returns the sine of this angle plus a number of quarter turns. */
    Real sine(int turns) {
      var turned = quarters.plus(turns);
      var value = sinePolynomial().where(turned.and(1).eq(0), cosinePolynomial());
      return value.where(turned.and(2).eq(0), value.negate());
    }

    Real tangent() {
      var even = quarters.and(1).eq(0);
      var sine = sinePolynomial();
      var cosine = cosinePolynomial();
      return sine.where(even, cosine.negate()).over(cosine.where(even, sine));
    }
  }

  private Turn reduce(Real x) {
    var turns = (Real) k.compute(Type.F32, "cvt.rni.f32.f32", x.times(0x1.45f306p-1));
    var near =
        turns.fma(
            x.constant(-0x1.846988p-48),
            turns.fma(x.constant(-0x1.5110b4p-22), turns.fma(x.constant(-0x1.921fb0p0), x)));
    var quarters = k.variable(turns.round());
    var rest = k.variable(near);
    k.when(
        x.abs().lt(LARGE).or(x.isNan()).not(),
        () -> {
          var turn = reduceLarge(x);
          quarters.set(turn.quarters);
          rest.set(turn.rest);
        });
    return new Turn(quarters, rest);
  }

  /** Reduces a large angle by the method of Payne and Hanek. */
  private Turn reduceLarge(Real x) {
    var bits = x.bits();
    var mantissa = bits.shl(8).or(k.integer(Integer.MIN_VALUE)).value();
    var exponent = bits.bits(23, 8).plus(-126);
    var word = exponent.shr(5);
    var shift = exponent.and(31);
    var high = product(mantissa, bits(word, 0, shift));
    var middle = product(mantissa, bits(word, 1, shift));
    var low = product(mantissa, bits(word, 2, shift));
    var quarter = shift("shl.b64", high, 32).plus(middle).plus(shift("shr.u64", low, 32));
    var whole = shift("shr.s64", quarter.plus(k.wide(1L << 61)), 62);
    var fraction = quarter.minus(shift("shl.b64", whole, 62));
    var radians =
        ((Real) k.compute(Type.F32, "cvt.rn.f32.s64", fraction.value()))
            .times(0x1.921fb54442d18p-62);
    var isNegative = x.lt(0);
    var quarters = whole.narrow();
    var infinity = x.constant(Double.POSITIVE_INFINITY);
    return new Turn(
        k.integer(0).minus(quarters).where(isNegative, quarters),
        radians
            .negate()
            .where(isNegative, radians)
            .where(x.abs().lt(infinity), x.constant(Double.NaN)));
  }

  private Wide product(Value a, Value b) {
    return k.compute(Type.U64, "mul.wide.u32", a, b).wide();
  }

  private Wide shift(String instruction, Wide x, int by) {
    return k.compute(Type.S64, instruction, x.value(), k.integer(by).value()).wide();
  }

  /** Returns 32 bits of 2/π, from a bit of a word on. */
  private Value bits(Int word, int offset, Int shift) {
    return k.compute(
        Type.B32,
        "shf.l.wrap.b32",
        word(word, offset + 1).value(),
        word(word, offset).value(),
        shift.value());
  }

  private Int word(Int word, int offset) {
    var chosen = constant(offset);
    for (int w = 1; w <= MAX_WORD; w++) {
      chosen = constant(w + offset).where(word.eq(w), chosen);
    }
    return chosen;
  }

  private Int constant(int index) {
    return k.integer(index < TWO_OVER_PI.length ? TWO_OVER_PI[index] : 0);
  }
}
