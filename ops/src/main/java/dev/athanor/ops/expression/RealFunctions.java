package dev.athanor.ops.expression;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;

/**
 * Functions of f32, and the exponential and the logarithm of f64, accurate to 2 ulp. Those of f32
 * are accurate to about 1e-6 relative to 1 plus the magnitude of the result, and for logarithms,
 * exponentials and powers relative to the result. The polynomials of logarithms and {@code expm1}
 * are those of {@link dev.athanor.engine.lift.library.Exponentials}.
 */
public final class RealFunctions {

  private static final double LN2 = Math.log(2);
  private static final double LOG2_E = 1 / LN2;
  private static final double LOG2_E_HIGH = (float) LOG2_E;
  private static final double LOG2_E_LOW = LOG2_E - LOG2_E_HIGH;
  private static final int SQRT_HALF_BITS = 0x3f3504f3;

  /** The magnitude of an exponent of 2 beyond which the power is infinite or 0. */
  private static final double MAX_EXPONENT = 200;

  private final KernelBuilder k;

  public RealFunctions(KernelBuilder k) {
    this.k = k;
  }

  /**
   * Rounds to an integer: {@code n} to nearest even, {@code z} to 0, {@code m} down, {@code p} up.
   */
  Real round(Real x, char mode) {
    var word = x.type().word();

    return (Real) k.compute(x.type(), "cvt.r%si.%s.%s".formatted(mode, word, word), x);
  }

  Real max(Real a, Real b) {
    return a.type() == Type.F32
        ? (Real) k.compute(Type.F32, "max.NaN.f32", a, b)
        : a.where(a.isNan(), b.where(b.isNan(), a.max(b)));
  }

  Real min(Real a, Real b) {
    return a.type() == Type.F32
        ? (Real) k.compute(Type.F32, "min.NaN.f32", a, b)
        : a.where(a.isNan(), b.where(b.isNan(), a.min(b)));
  }

  Real sign(Real x) {
    return x.constant(1).where(x.gt(0), x.constant(-1).where(x.lt(0), x));
  }

  /** Returns the floor of the exact quotient, if it is below 2^24 in f32. */
  Real quotient(Real a, Real b) {
    var floor = round(a.over(b), 'm');
    var rest = floor.negate().fma(b, a);
    // the rounded quotient may reach the next integer
    var opposite = rest.lt(0).and(b.gt(0)).or(rest.gt(0).and(b.lt(0)));
    return floor.minus(1).where(opposite, floor);
  }

  /** Returns the remainder with the sign of the divisor. */
  Real remainder(Real a, Real b) {
    var rest = quotient(a, b).negate().fma(b, a);
    var infinity = a.constant(Double.POSITIVE_INFINITY);
    var isBeyond = b.abs().eq(infinity).and(a.abs().lt(infinity));
    var opposite = a.lt(0).and(b.gt(0)).or(a.gt(0).and(b.lt(0)));
    return b.where(opposite, a).where(isBeyond, rest);
  }

  /** Returns e to the power of x. */
  public Real exp(Real x) {
    return x.type() == Type.F64 ? new DoubleFunctions(k).exp(x) : expSingle(x);
  }

  /** Applies the rounding error of x·log2(e) to the result. */
  private static Real expSingle(Real x) {
    var low = x.constant(-110).where(x.lt(-110), x);
    var limited = low.constant(90).where(low.gt(90), low);
    var high = limited.times(LOG2_E_HIGH);
    var error = limited.fma(x.constant(LOG2_E_HIGH), high.negate());
    var rest = limited.fma(x.constant(LOG2_E_LOW), error);
    return high.exp2().times(rest.fma(x.constant(LN2), x.constant(1)));
  }

  Real expm1(Real x) {
    var near =
        polynomial(
            x,
            5.0000001201e-1,
            1.6666665459e-1,
            4.1665795894e-2,
            8.3334519073e-3,
            1.3981999507e-3,
            1.9875691500e-4);
    return near.fma(x.times(x), x).where(x.abs().lt(0.35), exp(x).minus(1));
  }

  /**
   * A number as a power of two times a number near 1.
   *
   * @param fraction of the number near 1, from √½ - 1 to √2 - 1
   */
  private record Parts(Real exponent, Real fraction) {}

  private static Parts split(Real x) {
    var isTiny = x.lt(0x1p-126);
    var bits = x.times(0x1p23).where(isTiny, x).bits().plus(-SQRT_HALF_BITS);
    var exponent = bits.shrSigned(23).real(Type.F32);
    var fraction = bits.and(0x7fffff).plus(SQRT_HALF_BITS).value().as(Type.F32);
    return new Parts(exponent.minus(23).where(isTiny, exponent), ((Real) fraction).minus(1));
  }

  /** Returns ln(1 + f) - f. */
  private static Real logLess(Real f) {
    var z = f.times(f);
    var p =
        polynomial(
            f,
            3.3333331174e-1,
            -2.4999993993e-1,
            2.0000714765e-1,
            -1.6668057665e-1,
            1.4249322787e-1,
            -1.2420140846e-1,
            1.1676998740e-1,
            -1.1514610310e-1,
            7.0376836292e-2);
    return p.times(f).fma(z, z.times(-0.5));
  }

  /** Returns the natural logarithm. */
  public Real log(Real x) {
    return special(x, x.type() == Type.F64 ? new DoubleFunctions(k).log(x) : logSingle(x));
  }

  private static Real logSingle(Real x) {
    var parts = split(x);
    var e = parts.exponent;
    var less = e.fma(x.constant(-2.12194440e-4), logLess(parts.fraction));
    return e.fma(x.constant(0.693359375), parts.fraction.plus(less));
  }

  /** Returns the base-2 logarithm, which is exact for powers of two. */
  Real log2(Real x) {
    var parts = split(x);
    var natural = parts.fraction.plus(logLess(parts.fraction));
    return special(x, natural.fma(x.constant(LOG2_E), parts.exponent));
  }

  /** Returns a logarithm, or its limit unless x is positive and finite. */
  private static Real special(Real x, Real log) {
    var infinity = x.constant(Double.POSITIVE_INFINITY);
    var beyond = x.where(x.gt(0), x.constant(Double.NaN));
    var limit = x.constant(Double.NEGATIVE_INFINITY).where(x.eq(0), beyond);
    return log.where(x.gt(0).and(x.lt(infinity)), limit);
  }

  /** Returns ln(1 + x), with the rounding error of the sum divided by the sum. */
  Real log1p(Real x) {
    var sum = x.plus(1);
    var lost = x.minus(sum.minus(1)).times(sum.reciprocalApproximate());
    return log(sum).plus(x.constant(0).where(lost.isNan(), lost));
  }

  Real softplus(Real x) {
    return x.constant(0).where(x.lt(0), x).plus(log1p(exp(x.abs().negate())));
  }

  Real erf(Real x) {
    var square = x.times(x);
    double unit = 2 / Math.sqrt(Math.PI);
    var near =
        x.times(
            polynomial(square, unit, -unit / 3, unit / 10, -unit / 42, unit / 216, -unit / 1320));
    // gelu(-t) is -t times the normal tail
    var t = x.abs().times(Math.sqrt(2));
    var far = Activation.GELU.apply(t.negate()).times(2).over(t).plus(1);
    return near.where(x.abs().lt(0.5), far.negate().where(x.lt(0), far));
  }

  Real asin(Real x) {
    var t = x.abs();
    var isFar = t.gt(0.5);
    var half = halfArcsine(t, isFar);
    var magnitude = half.fma(x.constant(-2), x.constant(Math.PI / 2)).where(isFar, half);
    return magnitude.negate().where(x.lt(0), magnitude);
  }

  Real acos(Real x) {
    var t = x.abs();
    var isFar = t.gt(0.5);
    var half = halfArcsine(t, isFar);
    var near = x.constant(Math.PI / 2).plus(half.where(x.lt(0), half.negate()));
    var twice = half.plus(half);
    var far = x.constant(Math.PI).minus(twice).where(x.lt(0), twice);
    return far.where(isFar, near);
  }

  /**
   * Returns the arcsine of t or, where t is far from 0, half of the arccosine: the arcsine of √((1
   * - t) / 2). The polynomial interpolates at Chebyshev points, with an error below 1e-8.
   */
  private static Real halfArcsine(Real t, Predicate isFar) {
    var z = t.negate().plus(1).times(0.5).where(isFar, t.times(t));
    var root = z.sqrt().where(isFar, t);
    var p =
        polynomial(z, 0.166666728, 0.0749880912, 0.0450107075, 0.0264942372, 0.0382065224).times(z);
    return p.fma(root, root);
  }

  /**
   * Returns the arctangent. With t = |x| reduced to at most tan(π/8), by atan(t) = π/2 - atan(1/t)
   * and π/4 + atan((t - 1) / (t + 1)), the polynomial has an error below 1e-8.
   */
  Real atan(Real x) {
    var t = x.abs();
    var isLarge = t.gt(1 + Math.sqrt(2));
    var isMiddle = t.gt(Math.sqrt(2) - 1);
    var offset = x.constant(Math.PI / 4).where(isMiddle, x.constant(0));
    var base = x.constant(Math.PI / 2).where(isLarge, offset);
    var middle = t.minus(1).over(t.plus(1)).where(isMiddle, t);
    var r = x.constant(-1).over(t).where(isLarge, middle);
    var z = r.times(r);
    var p =
        polynomial(z, -0.333333313, 0.199995503, -0.142642319, 0.10746292, -0.0645936057).times(z);
    var magnitude = base.plus(p.fma(r, r));
    return magnitude.negate().where(x.lt(0), magnitude);
  }

  /** A number as the sum of two, the second less than the rounding error of the first. */
  private record Pair(Real high, Real low) {}

  /** Returns log2 of a positive finite number to about 30 bits. */
  private Pair log2Pair(Real x) {
    var parts = split(x);
    var f = parts.fraction;
    // ln(1 + f) = 2·artanh(s), s = f / (2 + f)
    var sum = f.plus(2);
    var lost = f.minus(sum.minus(2));
    var s = f.over(sum);
    var rest = s.negate().fma(lost, s.negate().fma(sum, f));
    var low = rest.times(sum.reciprocalApproximate());
    var z = s.times(s);
    var series = polynomial(z, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11);
    var high = s.plus(s);
    var tail = series.times(z).fma(s, low.plus(low));

    var product = high.times(LOG2_E_HIGH);
    var error = high.fma(x.constant(LOG2_E_HIGH), product.negate());
    var small = tail.fma(x.constant(LOG2_E), high.fma(x.constant(LOG2_E_LOW), error));
    var whole = parts.exponent.plus(product);
    var less = product.minus(whole.minus(parts.exponent)).plus(small);
    var nearest = whole.plus(less);
    return new Pair(nearest, less.minus(nearest.minus(whole)));
  }

  /** Returns x to the power of y, with the special cases of C. */
  Real power(Real x, Real y) {
    var a = x.abs();
    var infinity = x.constant(Double.POSITIVE_INFINITY);
    var log = log2Pair(a);
    var limited =
        x.constant(Double.NEGATIVE_INFINITY)
            .where(a.eq(0), a.where(a.lt(infinity).not(), log.high));
    var product = y.times(limited);
    var error = y.fma(limited, product.negate());
    var rest = y.fma(log.low, error);
    var known = x.constant(0).where(rest.isNan(), rest);
    var most = x.constant(MAX_EXPONENT);
    var exponent =
        x.constant(-MAX_EXPONENT)
            .where(product.lt(-MAX_EXPONENT), most.where(product.gt(MAX_EXPONENT), product));
    var inside = known.where(exponent.abs().lt(most), x.constant(0));
    var scaled = exponent.exp2().times(inside.fma(x.constant(LN2), x.constant(1)));
    var magnitude = x.constant(1).where(a.eq(1), scaled);

    var half = y.times(0.5);
    var isWhole = round(y, 'm').eq(y);
    var isOdd = isWhole.and(round(half, 'm').eq(half).not());
    var isNegative = x.bits().lt(0);
    var signed = magnitude.negate().where(isNegative.and(isOdd), magnitude);
    var isUndefined = x.lt(0).and(a.lt(infinity)).and(isWhole.not());
    var defined = x.constant(Double.NaN).where(isUndefined.or(y.isNan()), signed);
    return x.constant(1).where(y.eq(0).or(x.eq(1)), defined);
  }

  /** Returns a polynomial; the coefficients are those of 1, x, x² and so on. */
  static Real polynomial(Real x, double... coefficients) {
    var sum = x.constant(coefficients[coefficients.length - 1]);
    for (int i = coefficients.length - 2; i >= 0; i--) {
      sum = sum.fma(x, x.constant(coefficients[i]));
    }
    return sum;
  }
}
