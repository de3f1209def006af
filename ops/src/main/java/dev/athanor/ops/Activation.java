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

    @Override
    public Real derivative(Real x) {
      return x.constant(1);
    }

    @Override
    public double derivative(double x) {
      return 1;
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

    @Override
    public Real derivative(Real x) {
      return x.constant(1).where(x.gt(0), x.constant(0));
    }

    @Override
    public double derivative(double x) {
      return x > 0 ? 1 : 0;
    }
  },
  /** x/2 · (1 + erf(x/√2)). */
  GELU {
    @Override
    public Real apply(Real x) {
      var bounded = bound(x);
      var tail = tail(bounded);
      // for x < 0, use the tail itself: 1 minus a value near 1 would cancel
      return bounded.times(tail.where(x.lt(0), tail.constant(1).minus(tail)));
    }

    @Override
    public double apply(double x) {
      return x == Double.NEGATIVE_INFINITY ? -0.0 : x * normalCdf(x);
    }

    @Override
    public Real derivative(Real x) {
      var bounded = boundBoth(x);
      var tail = tail(bounded);
      var cdf = tail.where(x.lt(0), tail.constant(1).minus(tail));
      return bounded.times(bell(bounded)).fma(x.constant(1 / Math.sqrt(2 * Math.PI)), cdf);
    }

    @Override
    public double derivative(double x) {
      double bounded = bound(x);
      return normalCdf(bounded)
          + bounded * Math.exp(-bounded * bounded / 2) / Math.sqrt(2 * Math.PI);
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

    @Override
    public Real derivative(Real x) {
      var bounded = boundBoth(x);
      double slope = 2 * Math.sqrt(2 / Math.PI);
      var square = bounded.times(bounded);
      var perX = square.fma(x.constant(0.044715 * slope), x.constant(slope));
      var rise = square.fma(x.constant(3 * 0.044715 * slope), x.constant(slope));
      return slopeOfGate(bounded.times(perX), bounded.times(rise));
    }

    @Override
    public double derivative(double x) {
      double bounded = bound(x);
      double slope = 2 * Math.sqrt(2 / Math.PI);
      double square = bounded * bounded;
      return slopeOfGate(
          slope * bounded * (1 + 0.044715 * square), slope * bounded * (1 + 3 * 0.044715 * square));
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

    @Override
    public Real derivative(Real x) {
      var argument = boundBoth(x).times(1.702);
      return slopeOfGate(argument, argument);
    }

    @Override
    public double derivative(double x) {
      double argument = 1.702 * bound(x);
      return slopeOfGate(argument, argument);
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

    @Override
    public Real derivative(Real x) {
      var bounded = boundBoth(x);
      return slopeOfGate(bounded, bounded);
    }

    @Override
    public double derivative(double x) {
      return slopeOfGate(bound(x), bound(x));
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

    @Override
    public Real derivative(Real x) {
      var argument = x.times(2 * LOG2_E);
      return logistic(argument).times(logistic(argument.negate())).times(4);
    }

    @Override
    public double derivative(double x) {
      double cosh = Math.cosh(x);
      return 1 / (cosh * cosh);
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

    @Override
    public Real derivative(Real x) {
      var argument = x.times(LOG2_E);
      return logistic(argument).times(logistic(argument.negate()));
    }

    @Override
    public double derivative(double x) {
      return 1 / ((1 + Math.exp(-x)) * (1 + Math.exp(x)));
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

  /** Emits the derivative of the function at an f32; that of RELU at 0 is 0, as in PyTorch. */
  public abstract Real derivative(Real x);

  /** Evaluates the derivative in float64. */
  public abstract double derivative(double x);

  /** Clamps x to at least -128, where x·sigmoid(x) is already 0 in f32, to avoid -infinity · 0. */
  private static Real bound(Real x) {
    return x.constant(-128).where(x.lt(-128), x);
  }

  /** Clamps x to -128 … 128, beyond which derivatives are 0 or 1 in f32. */
  private static Real boundBoth(Real x) {
    return bound(x.constant(128).where(x.gt(128), x));
  }

  private static double bound(double x) {
    return Math.max(-128, Math.min(128, x));
  }

  /** Emits exp(-x²/2). */
  private static Real bell(Real x) {
    return x.times(x).times(-0.5 * LOG2_E).exp2();
  }

  /**
   * Emits the tail erfc(|x|/√2)/2 of the normal distribution. It is exp(-x²/2) times a smooth
   * function, which a polynomial in t = 1/(1 + 0.3·|x|), of least relative error on {@code |x| <=
   * 14}, gives to 1.5e-7.
   */
  private static Real tail(Real x) {
    var t = x.abs().fma(x.constant(0.3), x.constant(1)).reciprocalApproximate();
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
    var bell = bell(x);
    return smooth.times(t).times(bell);
  }

  /**
   * Emits the derivative of x·sigmoid(u): sigmoid(u)·(1 + x·u'·sigmoid(-u)).
   *
   * @param rise x times the derivative u' of the argument
   */
  private static Real slopeOfGate(Real argument, Real rise) {
    var power = argument.times(LOG2_E);
    return rise.fma(logistic(power.negate()), rise.constant(1)).times(logistic(power));
  }

  private static double slopeOfGate(double argument, double rise) {
    return (1 + rise / (1 + Math.exp(argument))) / (1 + Math.exp(-argument));
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
