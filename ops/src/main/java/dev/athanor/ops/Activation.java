package dev.athanor.ops;

import dev.athanor.engine.author.Real;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Functions of one number that an op can apply to its result. Each is right from -infinity to
 * infinity and keeps NaN.
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
  /**
   * x/2 · (1 + erf(x/√2)), with erf by Abramowitz and Stegun 7.1.26, whose error is at most 1.5e-7.
   */
  GELU {
    @Override
    public Real apply(Real x) {
      var bounded = bound(x);
      var z = bounded.abs().times(Math.sqrt(0.5));
      var t = z.constant(1).over(z.fma(z.constant(0.3275911), z.constant(1)));
      var polynomial = t.constant(1.061405429);
      for (double a : new double[] {-1.453152027, 1.421413741, -0.284496736, 0.254829592}) {
        polynomial = polynomial.fma(t, t.constant(a));
      }
      var tail = polynomial.times(t).times(z.times(z).negate().exp()).times(0.5);
      // of -|x| the product needs the small tail itself, not 1 minus something near 1
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
      var cube = bounded.times(bounded).fma(bounded.constant(0.044715), bounded.constant(1));
      return overOnePlusExp(bounded, bounded.times(cube).times(-2 * Math.sqrt(2 / Math.PI)));
    }

    @Override
    public double apply(double x) {
      return x == Double.NEGATIVE_INFINITY
          ? -0.0
          : x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
    }
  },
  /** x·sigmoid(x). */
  SILU {
    @Override
    public Real apply(Real x) {
      var bounded = bound(x);
      return overOnePlusExp(bounded, bounded.negate());
    }

    @Override
    public double apply(double x) {
      return x == Double.NEGATIVE_INFINITY ? -0.0 : x / (1 + Math.exp(-x));
    }
  };

  /** The name in requests: {@code gelu-tanh}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  public static Activation of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  public static List<String> names() {
    return Arrays.stream(values()).map(Activation::text).toList();
  }

  /** Writes the function of an f32. */
  public abstract Real apply(Real x);

  /** The function in float64. */
  public abstract double apply(double x);

  /** Where all of these functions are 0 in f32 already, so that -infinity times 0 never happens. */
  private static Real bound(Real x) {
    return x.constant(-128).where(x.lt(-128), x);
  }

  private static Real overOnePlusExp(Real x, Real exponent) {
    return x.over(exponent.exp().plus(1));
  }

  /**
   * The normal distribution function to double precision: the Taylor series of erf near 0 and the
   * continued fraction of erfc beyond (Abramowitz and Stegun 7.1.6 and 7.1.14).
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
