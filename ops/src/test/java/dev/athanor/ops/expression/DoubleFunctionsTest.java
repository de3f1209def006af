package dev.athanor.ops.expression;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The exponential and the logarithm of f64, against those of {@link StrictMath}. */
class DoubleFunctionsTest {

  private static final double INFINITY = Double.POSITIVE_INFINITY;

  private static void check(
      BiFunction<RealFunctions, Real, Real> function,
      DoubleUnaryOperator reference,
      DoubleStream numbers) {
    double[] x = numbers.toArray();
    double[] y = run(function, x);
    for (int i = 0; i < x.length; i++) {
      double expected = reference.applyAsDouble(x[i]);
      if (Double.isFinite(expected)) {
        assertThat(Math.abs(y[i] - expected) / Math.ulp(expected))
            .as("%s of %s, expected %s", y[i], x[i], expected)
            .isLessThanOrEqualTo(2);
      } else {
        assertThat(y[i]).as("of %s", x[i]).isEqualTo(Double.valueOf(expected));
      }
    }
  }

  private static double[] run(BiFunction<RealFunctions, Real, Real> function, double[] numbers) {
    var kernel =
        KernelBuilder.build(
            "compute",
            256,
            k -> {
              var x = k.pointer("x", Type.F64);
              var y = k.pointer("y", Type.F64);
              var i = k.block().times(256).plus(k.thread());
              var inside = i.lt(k.integer("n"));
              var value = x.loadWhere(inside, i).widen();
              y.storeWhere(inside, i, function.apply(new RealFunctions(k), value));
            });
    var result = new double[numbers.length];
    long bytes = 8L * numbers.length;
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT);
        var stream = device.openStream();
        var x = device.allocate(bytes);
        var y = device.allocate(bytes)) {
      stream.upload(MemorySegment.ofArray(numbers), x, 0);
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), "compute"),
              Dim3.of(Math.ceilDiv(numbers.length, 256)),
              Dim3.of(256),
              0,
              List.of(Argument.of(x), Argument.of(y), Argument.of(numbers.length))));
      stream.download(y, 0, MemorySegment.ofArray(result));
      stream.synchronize();
    }
    return result;
  }

  /** Includes results that are subnormal, 0 or infinite. */
  @Test
  void exponentials() {
    var random = new Random(1);
    check(
        RealFunctions::exp,
        StrictMath::exp,
        DoubleStream.concat(
            random.doubles(20_000, -760, 720),
            DoubleStream.of(0, -0.0, 1e-300, 1, 1e300, -1e300, INFINITY, -INFINITY, Double.NaN)));
  }

  /** Includes every exponent, subnormal numbers, and numbers near 1. */
  @Test
  void logarithms() {
    var random = new Random(2);
    var special =
        DoubleStream.of(
            0, -0.0, 1, -1, Double.MIN_VALUE, Double.MAX_VALUE, INFINITY, -INFINITY, Double.NaN);
    var exponents =
        IntStream.rangeClosed(-1074, 1023)
            .mapToDouble(exponent -> Math.scalb(random.nextDouble(1, 2), exponent));
    var nearOne = random.doubles(5_000, 0.9, 1.1);
    check(
        RealFunctions::log,
        StrictMath::log,
        DoubleStream.concat(special, DoubleStream.concat(exponents, nearOne)));
  }
}
