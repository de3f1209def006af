package dev.athanor.ops.expression;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Type;

/**
 * Functions of f64, accurate to 2 ulp, by the series of {@link
 * dev.athanor.engine.lift.library.Exponentials}.
 */
final class DoubleFunctions {

  private static final double LOG2_E = 0x1.71547652b82fep0;

  /** The upper bits of ln(2), so that products with exponents are exact. */
  private static final double LN2_HIGH = 0x1.62e42feep-1;

  private static final double LN2_LOW = 0x1.a39ef35793c76p-33;

  /** Terms of Taylor's series of the exponential; the next one is below the precision of f64. */
  private static final int EXP_TERMS = 13;

  private static final int FRACTION_BITS = 52;
  private static final long FRACTION_MASK = (1L << FRACTION_BITS) - 1;
  private static final int EXPONENT_BIAS = 1023;
  private static final long SQRT_HALF_BITS = 0x3fe6a09e667f3bcdL;

  private final KernelBuilder k;

  DoubleFunctions(KernelBuilder k) {
    this.k = k;
  }

  /** Returns e to the power of x. */
  Real exp(Real x) {
    var low = x.constant(-746).where(x.lt(-746), x);
    var limited = low.constant(710).where(low.gt(710), low);
    var exponent = limited.times(LOG2_E).round();
    var whole = exponent.real(Type.F64);
    var rest = whole.fma(x.constant(-LN2_LOW), whole.fma(x.constant(-LN2_HIGH), limited));
    var power = series(rest).fma(rest.times(rest), rest).plus(1);
    // in two steps, so that results may be subnormal
    var half = exponent.shrSigned(1);
    return power.times(powerOfTwo(half)).times(powerOfTwo(exponent.minus(half)));
  }

  /** Returns 1/2! + r/3! + r²/4! and so on. */
  private static Real series(Real r) {
    var coefficients = new double[EXP_TERMS - 1];
    double factorial = 1;
    for (int i = 0; i < coefficients.length; i++) {
      factorial *= i + 2;
      coefficients[i] = 1 / factorial;
    }
    return RealFunctions.polynomial(r, coefficients);
  }

  private Real powerOfTwo(Int exponent) {
    var biased = exponent.plus(EXPONENT_BIAS).wide();
    return (Real) shift("shl.b64", biased).value().as(Type.F64);
  }

  /** Returns the natural logarithm of a positive finite number. */
  Real log(Real x) {
    var isTiny = x.lt(Double.MIN_NORMAL);
    var scaled = x.times(0x1p54).where(isTiny, x);
    var bits = scaled.as(Type.S64).wide().minus(k.wide(SQRT_HALF_BITS));
    var exponent = shift("shr.s64", bits).narrow();
    var e = exponent.minus(k.integer(54).where(isTiny, k.integer(0))).real(Type.F64);
    var fraction =
        k.compute(Type.S64, "and.b64", bits.value(), k.wide(FRACTION_MASK).value())
            .wide()
            .plus(k.wide(SQRT_HALF_BITS));
    var f = ((Real) fraction.value().as(Type.F64)).minus(1);
    var s = f.over(f.plus(2));
    var z = s.times(s);
    var p =
        RealFunctions.polynomial(
            z,
            0.6666666666666735,
            0.3999999999940942,
            0.2857142874366239,
            0.22222198432149784,
            0.1818357216161805,
            0.15313837699209373,
            0.14798198605116586);
    var half = f.times(0.5).times(f);
    var low = s.fma(p.fma(z, half), e.times(LN2_LOW));
    return e.times(LN2_HIGH).minus(half.minus(low).minus(f));
  }

  /** Shifts by the bits of the fraction. */
  private Wide shift(String instruction, Wide bits) {
    Value by = k.integer(FRACTION_BITS).value();
    return k.compute(Type.S64, instruction, bits.value(), by).wide();
  }
}
