package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.linear.ProductDescription;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MatmulBackwardTest {

  private static final MatmulBackward BACKWARD = new MatmulBackward();
  private static final Matmul MATMUL = new Matmul();

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(BACKWARD.description(), given);
  }

  private static Map<String, double[]> gradients(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var types = HostTensor.types(inputs);
    var plan = BACKWARD.plan(types, attributes, TestDevices.H200);
    var results = new HashMap<String, double[]>();
    Runner.run(plan, inputs).forEach((name, tensor) -> results.put(name, tensor.toDoubles()));
    return results;
  }

  /** Uses a gradient of ones, that of the sum of the product, and one with random weights. */
  @ParameterizedTest
  @CsvSource({
    "F32, 32, 32, 32",
    "F32, 128, 128, 128",
    "F32, 64, 32, 128",
    "F16, 64, 32, 128",
    "BF16, 64, 32, 128"
  })
  void gradientsMatchTheReference(DType dtype, int m, int n, int k) {
    var draw = new Draw(new SplittableRandom(16));
    var a = draw.normal(dtype, m, k);
    var b = draw.normal(dtype, k, n);
    var ones = draw.integers(1, 1, new TensorType(dtype, Shape.of(m, n)));
    for (var grad : new HostTensor[] {ones, draw.normal(dtype, m, n)}) {
      var inputs = Map.of("grad", grad, "a", a, "b", b);
      var exact = BACKWARD.reference(inputs, attributes(Map.of()));
      var results = gradients(inputs, attributes(Map.of()));
      var exactDa = Objects.requireNonNull(exact.get("da"));
      var exactDb = Objects.requireNonNull(exact.get("db"));
      var da = Objects.requireNonNull(results.get("da"));
      var db = Objects.requireNonNull(results.get("db"));
      var ofDa = ProductDescription.tolerance(dtype, n);
      var ofDb = ProductDescription.tolerance(dtype, m);
      assertThat(ofDa.error(da, exactDa)).isLessThan(ofDa.limit());
      assertThat(ofDb.error(db, exactDb)).isLessThan(ofDb.limit());
    }
  }

  /** Compares with difference quotients of the weighted sum of a product in f64. */
  @ParameterizedTest
  @CsvSource({"false, false", "true, false", "false, true", "true, true"})
  void gradientsMatchDifferenceQuotients(boolean transposeA, boolean transposeB) {
    var draw = new Draw(new SplittableRandom(17));
    var transposes = Map.of("transposeA", transposeA, "transposeB", transposeB);
    var a = transposeA ? draw.normal(DType.F64, 7, 5) : draw.normal(DType.F64, 5, 7);
    var b = transposeB ? draw.normal(DType.F64, 6, 7) : draw.normal(DType.F64, 7, 6);
    var weights = draw.normal(DType.F64, 5, 6);
    var inputs = Map.of("grad", weights, "a", a, "b", b);
    var results = gradients(inputs, attributes(transposes));
    var forward = Attributes.of(MATMUL.description(), transposes);
    for (var name : new String[] {"a", "b"}) {
      var tensor = Objects.requireNonNull(inputs.get(name));
      var slopes = Objects.requireNonNull(results.get("d" + name));
      for (int i = 0; i < slopes.length; i++) {
        double value = tensor.toDoubles()[i];
        tensor.type().dtype().write(tensor.data(), i, value + 0.5);
        double above = loss(a, b, forward, weights);
        tensor.type().dtype().write(tensor.data(), i, value - 0.5);
        double below = loss(a, b, forward, weights);
        tensor.type().dtype().write(tensor.data(), i, value);
        // the loss is linear in each element, so the distance may be large
        assertThat(above - below).isCloseTo(slopes[i], within(1e-12));
      }
    }
  }

  private static double loss(HostTensor a, HostTensor b, Attributes forward, HostTensor weights) {
    var c = Objects.requireNonNull(MATMUL.reference(Map.of("a", a, "b", b), forward).get("c"));
    var w = weights.toDoubles();
    double sum = 0;
    for (int i = 0; i < c.length; i++) {
      sum += w[i] * c[i];
    }
    return sum;
  }

  @Test
  void choosesTheBestPlanOfBothProducts() {
    var types =
        Map.of(
            "grad", TensorType.of(DType.F16, 512, 256),
            "a", TensorType.of(DType.F16, 512, 128),
            "b", TensorType.of(DType.F16, 128, 256));
    var plan = BACKWARD.plan(types, attributes(Map.of()), TestDevices.H200);
    var da =
        MATMUL.plan(
            Map.of(
                "a", TensorType.of(DType.F16, 512, 256), "b", TensorType.of(DType.F16, 128, 256)),
            Attributes.of(MATMUL.description(), Map.of("transposeB", true)),
            TestDevices.H200);
    assertThat(plan.kernel()).startsWith(da.kernel() + "+");
    assertThat(plan.explain()).contains("da: " + da.explain()).contains("\ndb: ");
    assertThat(plan.cost().flops()).isEqualTo(4.0 * 512 * 256 * 128);
  }

  @Test
  void rejectsInconsistentInputs() {
    assertRejected(
        TensorType.of(DType.F32, 2, 4),
        TensorType.of(DType.F32, 2, 3),
        TensorType.of(DType.F32, 3, 5),
        Map.of(),
        OpException.ShapeMismatch.class,
        "grad has shape [2, 4]; the product of a [2, 3] and b [3, 5] has [2, 5]");
    assertRejected(
        TensorType.of(DType.F16, 2, 5),
        TensorType.of(DType.F32, 2, 3),
        TensorType.of(DType.F32, 3, 5),
        Map.of(),
        OpException.UnsupportedDType.class,
        "grad is f16 but a is f32; they must be the same");
    assertRejected(
        TensorType.of(DType.F32, 4, 2, 5),
        TensorType.of(DType.F32, 2, 3),
        TensorType.of(DType.F32, 4, 3, 5),
        Map.of(),
        OpException.ShapeMismatch.class,
        "the leading dimensions [] of a and [4] of b differ; this is supported only if b"
            + " is a single matrix and a is not transposed");
    assertRejected(
        TensorType.of(DType.F32, 4, 2, 5),
        TensorType.of(DType.F32, 4, 3, 2),
        TensorType.of(DType.F32, 3, 5),
        Map.of("transposeA", true),
        OpException.ShapeMismatch.class,
        "the leading dimensions [4] of a and [] of b differ; this is supported only if b"
            + " is a single matrix and a is not transposed");
  }

  private static void assertRejected(
      TensorType grad,
      TensorType a,
      TensorType b,
      Map<String, ?> attributes,
      Class<? extends OpException> kind,
      String message) {
    assertThatThrownBy(() ->
            BACKWARD.plan(
                Map.of("grad", grad, "a", a, "b", b), attributes(attributes), TestDevices.H200))
        .isInstanceOf(kind)
        .hasMessage(message);
  }
}
