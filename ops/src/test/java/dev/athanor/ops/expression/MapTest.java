package dev.athanor.ops.expression;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.map.Rounding;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongBinaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MapTest {

  private static final long[] WHOLE = {
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    63,
    64,
    100,
    -128,
    127,
    255,
    1L << 31,
    -(1L << 31),
    (1L << 53) + 1,
    Long.MAX_VALUE,
    Long.MAX_VALUE - 1,
    Long.MIN_VALUE,
    Long.MIN_VALUE + 1,
    0x123456789abcdefL
  };

  private static HostTensor run(String expression, HostTensor... operands) {
    var inputs = new LinkedHashMap<String, HostTensor>();
    for (int i = 0; i < operands.length; i++) {
      inputs.put("x" + i, operands[i]);
    }
    return Runner.run(Runner.op("map"), inputs, Map.of("expression", expression), "y");
  }

  private static HostTensor floats(double... x) {
    return HostTensor.of(TensorType.of(DType.F32, x.length), x);
  }

  private static HostTensor integers(DType dtype, long... x) {
    var tensor = HostTensor.zeros(TensorType.of(dtype, x.length));
    for (int i = 0; i < x.length; i++) {
      dtype.writeLong(tensor.data(), i, x[i]);
    }
    return tensor;
  }

  /** Every exponent of f32 with a few mantissas and both signs, and numbers near 0 and 1. */
  private static double[] sweep() {
    var all = new ArrayList<Double>();
    for (int exponent = -149; exponent <= 127; exponent++) {
      for (double mantissa : new double[] {1, 1.3, 1.7}) {
        all.add((double) Math.scalb((float) mantissa, exponent));
      }
    }
    IntStream.range(1, 3000).forEach(i -> all.add((double) (i / 32f)));
    IntStream.range(-400, 400).forEach(i -> all.add((double) (1 + i * 0x1p-20f)));
    all.addAll(List.of(0.0, Double.POSITIVE_INFINITY, Double.NaN));
    return all.stream().flatMapToDouble(x -> DoubleStream.of(x, -x)).toArray();
  }

  private static double[] expected(String expression, double[] x, double[] y) {
    var dtypes = y.length > 0 ? List.of(DType.F32, DType.F32) : List.of(DType.F32);
    var compiled = Expression.of(expression, dtypes, List.of(), Optional.empty());
    var result = new double[x.length];
    for (int i = 0; i < x.length; i++) {
      var inputs = new ArrayList<>(List.of(ScalarValue.of(x[i])));
      if (y.length > 0) {
        inputs.add(ScalarValue.of(y[i]));
      }
      double value = Evaluator.evaluate(compiled.program(), compiled.literals(), inputs).toReal();
      result[i] =
          Math.abs(value) >= DType.F32.overflow()
              ? Math.copySign(Double.POSITIVE_INFINITY, value)
              : value;
    }
    return result;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "abs",
        "sign",
        "relu",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sqrt",
        "rsqrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "tanh",
        "sigmoid",
        "erf",
        "gelu",
        "silu",
        "softplus"
      })
  void functionsAreAccurate(String function) {
    var x = sweep();
    var y = run(function + "(x)", floats(x)).toDoubles();
    var expected = expected(function + "(x)", x, new double[0]);
    for (int i = 0; i < x.length; i++) {
      double error = Tolerance.maximum(0).error(new double[] {y[i]}, new double[] {expected[i]});
      assertThat(error)
          .as("%s(%s) = %s, expected %s", function, x[i], y[i], expected[i])
          .isLessThan(1e-6);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"expm1", "log1p", "log", "erf", "sin", "tan", "asin", "atan"})
  void smallResultsAreAccurateToo(String function) {
    var x =
        DoubleStream.of(sweep()).filter(v -> Math.abs(v) > 1e-30 && Math.abs(v) < 0.4).toArray();
    if (function.equals("log")) {
      x = DoubleStream.of(sweep()).filter(v -> v > 0.5 && v < 2 && v != 1).toArray();
    }
    var y = run(function + "(x)", floats(x)).toDoubles();
    var expected = expected(function + "(x)", x, new double[0]);
    for (int i = 0; i < x.length; i++) {
      assertThat(y[i] / expected[i]).as("%s(%s)", function, x[i]).isBetween(1 - 5e-7, 1 + 5e-7);
    }
  }

  @Test
  void powersAreAccurate() {
    var x = new ArrayList<Double>();
    var y = new ArrayList<Double>();
    var bases =
        List.of(
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.0,
            1.0000001,
            0.99999,
            3.7,
            1e-30,
            1e30,
            -8.0,
            Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY,
            Double.NaN,
            1e-42);
    var exponents =
        List.of(
            0.0,
            1.0,
            -1.0,
            2.0,
            3.0,
            0.5,
            -0.3,
            7.25,
            126.9,
            -80.5,
            1e7,
            1e30,
            Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY,
            Double.NaN,
            33.0);
    for (double base : bases) {
      for (double exponent : exponents) {
        x.add((double) (float) base);
        y.add((double) (float) exponent);
      }
    }
    for (int i = 0; i < 2000; i++) {
      x.add((double) (float) Math.pow(2, (i - 1000) / 40.0));
      y.add((double) (float) (Math.sin(i) * 6));
    }
    var bases32 = x.stream().mapToDouble(v -> v).toArray();
    var exponents32 = y.stream().mapToDouble(v -> v).toArray();
    var result = run("x0 ** x1", floats(bases32), floats(exponents32)).toDoubles();
    var expected = expected("x0 ** x1", bases32, exponents32);
    for (int i = 0; i < result.length; i++) {
      double error =
          Tolerance.maximum(0).error(new double[] {result[i]}, new double[] {expected[i]});
      assertThat(error)
          .as("%s ** %s = %s, expected %s", bases32[i], exponents32[i], result[i], expected[i])
          .isLessThan(1e-6);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "x0 + x1",
        "x0 - x1",
        "x0 * x1",
        "x0 // x1",
        "x0 % x1",
        "min(x0, x1)",
        "max(x0, x1)",
        "x0 & x1",
        "x0 | x1",
        "x0 ^ x1",
        "x0 << x1",
        "x0 >> x1",
        "fma(x0, x1, x0)",
        "-x0 - abs(x1)",
        "sign(x0) + ~x1",
        "x0 ** 3 + x1",
        "x0 // 8 - x1 % 16",
        "where(x0 < x1, x0, x1)",
        "clamp(x0, x1, 5)",
        "i8(x0) + x1",
        "(x0 <= x1) + (x0 == x1) * 2"
      })
  void integersAreExact(String expression) {
    for (var dtype : List.of(DType.I64, DType.I32, DType.U32, DType.I16, DType.I8, DType.U8)) {
      var fitting =
          LongStream.of(WHOLE)
              .filter(v -> v >= Rounding.least(dtype) && v <= Rounding.greatest(dtype))
              .toArray();
      int n = fitting.length;
      var a = IntStream.range(0, n * n).mapToLong(i -> fitting[i / n]).toArray();
      var b = IntStream.range(0, n * n).mapToLong(i -> fitting[i % n]).toArray();
      var y = run(expression, integers(dtype, a), integers(dtype, b));
      var compiled = Expression.of(expression, List.of(dtype, dtype), List.of(), Optional.empty());
      for (int i = 0; i < a.length; i++) {
        var expected =
            Evaluator.evaluate(
                compiled.program(),
                compiled.literals(),
                List.of(ScalarValue.of(a[i]), ScalarValue.of(b[i])));
        assertThat(y.type().dtype().readLong(y.data(), i))
            .as("%s of %s %d and %d", expression, dtype, a[i], b[i])
            .isEqualTo(expected.whole());
      }
    }
  }

  /** Compares with Java, because the emulator and the reference might share a mistake. */
  @Test
  void divisionRoundsDown() {
    record Check(String expression, LongBinaryOperator expected) {}
    var checks =
        List.of(
            new Check("x0 // x1", (a, b) -> b == 0 ? 0 : Math.floorDiv(a, b)),
            new Check("x0 % x1", (a, b) -> b == 0 ? 0 : Math.floorMod(a, b)),
            new Check("x0 * x1", (a, b) -> a * b),
            new Check("x0 << x1", (a, b) -> b >= 0 && b < 64 ? a << b : 0),
            new Check("x0 >> x1", (a, b) -> b >= 0 && b < 64 ? a >> b : a < 0 ? -1 : 0));
    int n = WHOLE.length;
    var a = IntStream.range(0, n * n).mapToLong(i -> WHOLE[i / n]).toArray();
    var b = IntStream.range(0, n * n).mapToLong(i -> WHOLE[i % n]).toArray();
    for (var check : checks) {
      var y = run(check.expression, integers(DType.I64, a), integers(DType.I64, b));
      for (int i = 0; i < a.length; i++) {
        assertThat(DType.I64.readLong(y.data(), i))
            .as("%s of %d and %d", check.expression, a[i], b[i])
            .isEqualTo(check.expected.applyAsLong(a[i], b[i]));
      }
    }
  }

  @Test
  void remaindersOfFloatsHaveTheSignOfTheDivisor() {
    double inf = Double.POSITIVE_INFINITY;
    var a = floats(7, -7, 7, -7, 1, 5, -5, 5, 0);
    var b = floats(3, 3, -3, -3, 0.1f, inf, inf, -inf, 2);
    assertThat(run("x0 % x1", a, b).toDoubles())
        .usingComparatorWithPrecision(1e-7)
        .containsExactly(1, 2, -2, -1, 1 - 9 * (double) 0.1f, 5, inf, -inf, 0);
    assertThat(run("x0 // x1", a, b).toDoubles()).startsWith(2, -3, -3, 2, 9);
  }

  @Test
  void splitsLargeResults() {
    var x = floats(IntStream.range(0, 3 * 80).mapToDouble(i -> i).toArray());
    var y = floats(1, 2, 3);
    var shapes = List.of(Shape.of(3, 80), Shape.of(3, 1));
    var compiled =
        Expression.of("x0 * x1", List.of(DType.F32, DType.F32), List.of(), Optional.empty());
    var inputs =
        Map.of(
            "x0", new HostTensor(new TensorType(DType.F32, shapes.getFirst()), x.data()),
            "x1", new HostTensor(new TensorType(DType.F32, shapes.getLast()), y.data()));
    var planner =
        new MapPlanner(
            "map",
            compiled,
            List.of("x0", "x1"),
            shapes,
            new TensorType(DType.F32, shapes.getFirst()));
    var cost = new Plan.Cost(240, 2000);
    for (long most : new long[] {16, 48, 1024}) {
      var plan = planner.plans(cost, TestDevices.H200, most).getFirst();
      assertThat(plan.steps().size() > 1).isEqualTo(most < 240);
      assertThat(Runner.run(plan, inputs, "y").toDoubles())
          .isEqualTo(
              IntStream.range(0, 240).mapToDouble(i -> i * (1.0 + Math.floorDiv(i, 80))).toArray());
    }
  }

  @Test
  void kernelsOfLongExpressionsStaySmall() {
    var text = "sin(".repeat(50) + "x" + ")".repeat(50);
    var inputs = Map.of("x0", TensorType.of(DType.U8, 4096));
    var plan = Runner.plans(Runner.op("map"), inputs, Map.of("expression", text)).getFirst();
    assertThat(plan.kernel()).endsWith("_v1_d1");
    assertThat(plan.explain()).contains("y = " + text);
    assertThat(
            Runner.plans(Runner.op("map"), inputs, Map.of("expression", "x+1")).getFirst().kernel())
        .endsWith("_v16_d2");
  }
}
