package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

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
import java.util.function.DoubleUnaryOperator;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ActivationTest {

  /**
   * Every exponent of f32 with a few mantissas and both signs, multiples of 1/64 near 0, and
   * special numbers.
   */
  private static final float[] NUMBERS = numbers();

  private static float[] numbers() {
    var all =
        IntStream.rangeClosed(-149, 127)
            .mapToObj(exponent -> Math.scalb(1f, exponent))
            .flatMap(x -> List.of(x, -x, x * 1.3f, -x * 1.3f, x * 1.9f, -x * 1.9f).stream())
            .toList();
    var numbers = new float[all.size() + 2048];
    for (int i = 0; i < all.size(); i++) {
      numbers[i] = all.get(i);
    }
    for (int i = 0; i < 2043; i++) {
      numbers[all.size() + i] = (i - 1021) / 64f;
    }
    float[] special = {0f, -0f, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.NaN};
    System.arraycopy(special, 0, numbers, numbers.length - special.length, special.length);
    return numbers;
  }

  @ParameterizedTest
  @EnumSource(Activation.class)
  void matchesTheReferenceFromMinusInfinityToInfinity(Activation activation) {
    compare(activation.text(), activation::apply, activation::apply);
  }

  @ParameterizedTest
  @EnumSource(Activation.class)
  void derivativeMatchesTheReferenceFromMinusInfinityToInfinity(Activation activation) {
    compare(activation.text() + "'", activation::derivative, activation::derivative);
  }

  private static void compare(
      String name, UnaryOperator<Real> function, DoubleUnaryOperator inDouble) {
    var kernel =
        KernelBuilder.build(
            "activate",
            256,
            k -> {
              var x = k.pointer("x", Type.F32);
              var y = k.pointer("y", Type.F32);
              var n = k.integer("n");
              var i = k.block().times(256).plus(k.thread());
              var inside = i.lt(n);
              y.storeWhere(inside, i, function.apply(x.loadWhere(inside, i).widen()));
            });
    var result = new float[NUMBERS.length];
    long bytes = 4L * NUMBERS.length;
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT);
        var stream = device.openStream();
        var x = device.allocate(bytes);
        var y = device.allocate(bytes)) {
      stream.upload(MemorySegment.ofArray(NUMBERS), x, 0);
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), "activate"),
              Dim3.of(Math.ceilDiv(NUMBERS.length, 256)),
              Dim3.of(256),
              0,
              List.of(Argument.of(x), Argument.of(y), Argument.of(NUMBERS.length))));
      stream.download(y, 0, MemorySegment.ofArray(result));
      stream.synchronize();
    }
    var tolerance = new Tolerance(Tolerance.Metric.MAXIMUM, 1e-6);
    for (int i = 0; i < result.length; i++) {
      double exact = inDouble.applyAsDouble(NUMBERS[i]);
      // beyond the range of f32, the correct result is infinite
      double reference = Math.abs(exact) > Float.MAX_VALUE ? (float) exact : exact;
      assertThat(tolerance.error(new double[] {result[i]}, new double[] {reference}))
          .as("%s(%s) = %s, got %s", name, NUMBERS[i], reference, result[i])
          .isLessThanOrEqualTo(tolerance.limit());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "GELU, 1, 0.8413447460685429",
    "GELU, -1, -0.15865525393145707",
    "GELU, 4, 3.9998733150316737",
    "GELU, -6, -5.919526253e-09",
    "GELU_TANH, 1, 0.8411919906082768",
    "GELU_TANH, -2, -0.04540230591222998",
    "SILU, 2, 1.7615941559557649",
    "SILU, -2, -0.2384058440442351",
    "GELU_SIGMOID, 1, 0.8457957659328212",
    "TANH, 0.5, 0.46211715726000975",
    "TANH, -44.25, -1",
    "SIGMOID, 2, 0.8807970779778823",
    "SIGMOID, -40, 4.248354255291589e-18",
    "GELU_TANH, 10, 10",
    "RELU, -3, 0",
    "RELU, 3, 3",
    "NONE, -3, -3"
  })
  void referenceMatchesPublishedValues(Activation activation, double x, double y) {
    assertThat(activation.apply(x)).isCloseTo(y, within(1e-9 * Math.abs(y) + 1e-15));
  }

  /** The derivatives in float64 agree with central differences of the functions. */
  @ParameterizedTest
  @EnumSource(Activation.class)
  void derivativeIsTheSlope(Activation activation) {
    double step = 1e-5;
    for (double x = -12.1; x < 12; x += 0.07) {
      double slope = (activation.apply(x + step) - activation.apply(x - step)) / (2 * step);
      assertThat(activation.derivative(x)).as("at %s", x).isCloseTo(slope, within(1e-9));
    }
    assertThat(activation.derivative(Double.POSITIVE_INFINITY)).isBetween(0.0, 1.0);
    assertThat(activation.derivative(Double.NEGATIVE_INFINITY)).isBetween(-1e-50, 1.0);
  }

  /** As PyTorch returns it. */
  @Test
  void derivativeOfReluIsZeroAtZero() {
    assertThat(Activation.RELU.derivative(0.0)).isZero();
  }

  @Test
  void findsActivationsByName() {
    var names = Activation.names(List.of(Activation.values()));
    assertThat(names)
        .containsExactly(
            "none", "relu", "gelu", "gelu-tanh", "gelu-sigmoid", "silu", "tanh", "sigmoid");
    for (var name : names) {
      assertThat(Activation.of(name).text()).isEqualTo(name);
    }
  }
}
