package dev.athanor.ops;

import dev.athanor.engine.author.Real;
import java.util.List;
import java.util.Locale;

/**
 * Element-wise functions that an op can apply to its result. Each is accurate from -infinity to
 * infinity and propagates NaN.
 */
public enum Activation {
  NONE {
    @Override
    public Real apply(Real x) {
      return x;
    }

    @Override
    public double apply(double x) {
      return x;
    }
  },
  RELU {
    @Override
    public Real apply(Real x) {
      return x.constant(0).where(x.lt(0), x);
    }

    @Override
    public double apply(double x) {
      return x < 0 ? 0 : x;
    }
  },
  /** x/2 · (1 + erf(x/√2)). */
  GELU {
    @Override
    public Real apply(Real x) {
      var bounded = bound(x);
      var magnitude = bounded.abs();
      // The tail erfc(|x|/√2)/2 is exp(-x²/2) times a smooth function, which a polynomial in
      // t = 1/(1 + 0.3·|x|), of least relative error on 0 <= |x| <= 14, gives to 1.5e-7.
      var t = magnitude.fma(x.constant(0.3), x.constant(1)).reciprocalApproximate();
      var smooth =
          polynomial(
              t,
              0.119629298,
              0.120753971,
              0.0999133862,
              0.12856201,
              -0.0536844331,
              0.206354429,
              -0.157203654,
              0.0356749188);
      var bell = bounded.times(bounded).times(-0.5 * LOG2_E).exp2();
      var tail = smooth.times(t).times(bell);
      // for x < 0, use the tail itself: 1 minus a value near 1 would cancel
      return bounded.times(tail.where(x.lt(0), tail.constant(1).minus(tail)));
    }

    @Override
    public double apply(double x) {
      return x == Double.NEGATIVE_INFINITY ? -0.0 : x * normalCdf(x);
    }
  },
  /** x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))), which is x·sigmoid of twice the argument. */
  GELU_TANH {
    @Override
    public Real apply(Real x) {
      var bounded = bound(x);
      double slope = 2 * Math.sqrt(2 / Math.PI) * LOG2_E;
      var square = bounded.times(bounded);
      var perX = square.fma(x.constant(0.044715 * slope), x.constant(slope));
      return bounded.times(logistic(bounded.times(perX)));
    }

    @Override
    public double apply(double x) {
      return overOnePlusExp(x, -2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x));
    }
  },
  /** x·sigmoid(1.702·x). */
  GELU_SIGMOID {
    @Override
    public Real apply(Real x) {
      var bounded = bound(x);
      return bounded.times(logistic(bounded.times(1.702 * LOG2_E)));
    }

    @Override
    public double apply(double x) {
      return overOnePlusExp(x, -1.702 * x);
    }
  },
  /** x·sigmoid(x). */
  SILU {
    @Override
    public Real apply(Real x) {
      var bounded = bound(x);
      return bounded.times(logistic(bounded.times(LOG2_E)));
    }

    @Override
    public double apply(double x) {
      return overOnePlusExp(x, -x);
    }
  },
  TANH {
    @Override
    public Real apply(Real x) {
      var magnitude = x.abs();
      var e = magnitude.times(-2 * LOG2_E).exp2();
      var far = x.constant(1).minus(e).times(e.plus(1).reciprocalApproximate());
      // 1 - e cancels near 0; there tanh(x)/x is a polynomial in x², to 1.5e-7
      var square = x.times(x);
      var near =
          x.times(polynomial(square, 1, -0.333332875, 0.133284659, -0.0531469132, 0.0172961237));
      return near.where(magnitude.lt(0.55), far.negate().where(x.lt(0), far));
    }

    @Override
    public double apply(double x) {
      return Math.tanh(x);
    }
  },
  /** 1/(1 + e^-x). */
  SIGMOID {
    @Override
    public Real apply(Real x) {
      return logistic(x.times(LOG2_E));
    }

    @Override
    public double apply(double x) {
      return 1 / (1 + Math.exp(-x));
    }
  };

  /** The functions that a matrix product can apply in its epilogue. */
  public static final List<Activation> EPILOGUES = List.of(NONE, RELU, GELU, GELU_TANH, SILU);

  private static final double LOG2_E = 1 / Math.log(2);

  /** Returns the name used in requests: {@code gelu-tanh}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  public static Activation of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  /** Returns the request names of some functions. */
  public static List<String> names(List<Activation> some) {
    return some.stream().map(Activation::text).toList();
  }

  /** Emits the function of an f32. */
  public abstract Real apply(Real x);

  /** Evaluates the function in float64. */
  public abstract double apply(double x);

  /** Clamps x to at least -128, where x·sigmoid(x) is already 0 in f32, to avoid -infinity · 0. */
  private static Real bound(Real x) {
    return x.constant(-128).where(x.lt(-128), x);
  }

  /**
   * Emits 1/(1 + 2^-a). Computes 2^-|a|, which cannot overflow and keeps the relative precision of
   * the tail below 0.
   */
  private static Real logistic(Real a) {
    var power = a.abs().negate().exp2();
    var upper = power.plus(1).reciprocalApproximate();
    return power.times(upper).where(a.lt(0), upper);
  }

  /** Emits a polynomial; the coefficients are those of 1, x, x² and so on. */
  private static Real polynomial(Real x, double... coefficients) {
    var sum = x.constant(coefficients[coefficients.length - 1]);
    for (int i = coefficients.length - 2; i >= 0; i--) {
      sum = sum.fma(x, x.constant(coefficients[i]));
    }
    return sum;
  }

  private static double overOnePlusExp(double x, double exponent) {
    return x == Double.NEGATIVE_INFINITY ? -0.0 : x / (1 + Math.exp(exponent));
  }

  /**
   * Returns the normal cumulative distribution function to double precision: the Taylor series of
   * erf near 0 and the continued fraction of erfc beyond (Abramowitz and Stegun 7.1.6 and 7.1.14).
   */
  private static double normalCdf(double x) {
    double z = Math.abs(x) / Math.sqrt(2);
    double upper;
    if (z < 2.5) {
      double term = z;
      double sum = z;
      for (int n = 1; term > sum * 1e-18; n++) {
        term *= 2 * z * z / (2 * n + 1);
        sum += term;
      }
      upper = 0.5 - sum * Math.exp(-z * z) / Math.sqrt(Math.PI);
    } else {
      double fraction = z;
      for (int n = 120; n > 0; n--) {
        fraction = z + n / 2.0 / fraction;
      }
      upper = 0.5 * Math.exp(-z * z) / Math.sqrt(Math.PI) / fraction;
    }
    return x > 0 ? 1 - upper : upper;
  }
}
