package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockSum;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;

/** Prices a European call option by simulation and compares it with the Black–Scholes formula. */
public final class OptionPricing {
  private static final int THREADS = 128;

  private OptionPricing() {}

  @GpuKernel(blockSize = THREADS)
  static void simulate(
      double[] sums, int paths, float spot, float strike, float drift, float deviation) {
    long state = 1 + threadIdxX() + (long) blockIdxX() * blockDimX();
    double sum = 0;
    for (int i = 0; i < paths; i++) {
      state += 0x9E3779B97F4A7C15L;
      long bits = mix(state + ((long) i << 40));
      // two uniform numbers make a normal one (Box and Muller 1958)
      float u = ((bits >>> 40) + 0.5f) / (1 << 24);
      float v = ((bits & 0xFF_FFFF) + 0.5f) / (1 << 24);
      float normal = (float) (Math.sqrt(-2 * (float) Math.log(u)) * Math.cos(6.2831853f * v));
      float price = spot * (float) Math.exp(Math.fma(deviation, normal, drift));
      sum += Math.max(price - strike, 0);
    }
    sum = blockSum(sum);
    if (threadIdxX() == 0) {
      sums[blockIdxX()] = sum;
    }
  }

  /** The finalizer of SplitMix64 (Steele, Lea and Flood 2014). */
  private static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  public static void main(String[] arguments) {
    int blocks = 4;
    int paths = 64;
    double spot = 100;
    double strike = 105;
    double rate = 0.03;
    double volatility = 0.2;
    double years = 1;
    double deviation = volatility * Math.sqrt(years);
    double drift = (rate - volatility * volatility / 2) * years;
    var sums = new double[blocks];
    try (var device = Devices.open("auto").device()) {
      Kernels.of(OptionPricing::simulate)
          .on(device)
          .launch(
              blocks, sums, paths, (float) spot, (float) strike, (float) drift, (float) deviation);
      double total = 0;
      for (double each : sums) {
        total += each;
      }
      int count = blocks * THREADS * paths;
      double price = Math.exp(-rate * years) * total / count;
      double d = (Math.log(spot / strike) + drift) / deviation;
      double exact =
          spot * normal(d + deviation) - strike * Math.exp(-rate * years) * normal(d);
      // the payoff has a standard deviation of about 13
      if (Math.abs(price - exact) > 4 * 13 / Math.sqrt(count)) {
        throw new AssertionError("the price is %s, but the formula yields %s".formatted(price, exact));
      }
      System.out.printf(
          "option-pricing: %.2f by %d paths, %.2f by the formula, on %s%n",
          price, count, exact, device.capability().name());
    }
  }

  /** The distribution function of the normal distribution, by Simpson's rule. */
  private static double normal(double x) {
    int steps = 1000;
    double width = x / steps;
    double sum = 0;
    for (int i = 0; i <= steps; i++) {
      double weight = i == 0 || i == steps ? 1 : i % 2 == 0 ? 2 : 4;
      double t = i * width;
      sum += weight * Math.exp(-t * t / 2);
    }
    return 0.5 + sum * width / 3 / Math.sqrt(2 * Math.PI);
  }
}
