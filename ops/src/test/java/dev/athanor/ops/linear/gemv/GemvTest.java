package dev.athanor.ops.linear.gemv;

import static dev.athanor.ops.linear.dense.MatmulProfileTest.assertNoConflicts;
import static dev.athanor.ops.linear.dense.MatmulProfileTest.assertWholeSectors;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.ops.linear.dense.MatmulProfileTest;
import dev.athanor.ops.profile.OpProfile;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GemvTest {

  private static final Gemv GEMV = new Gemv();
  private static final Matmul MATMUL = new Matmul();

  private static Map<String, TensorType> types(DType dtype, boolean transposeA, int m, int k) {
    return Map.of(
        "a",
        transposeA ? TensorType.of(dtype, k, m) : TensorType.of(dtype, m, k),
        "x",
        TensorType.of(dtype, k));
  }

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(GEMV.description(), given);
  }

  private static List<? extends Plan> plans(DType dtype, boolean transposeA, int m, int k) {
    return GEMV.plans(
        types(dtype, transposeA, m, k),
        attributes(Map.of("transposeA", transposeA)),
        TestDevices.H200);
  }

  /** The matrix is read in whole sectors, 16 bytes per lane, for every dtype and layout. */
  @ParameterizedTest
  @CsvSource({
    "F32, false, 24, 512", "F16, false, 24, 512", "F64, false, 9, 256", "BF16, false, 40, 64",
    "F32, true, 512, 24", "F16, true, 512, 24", "F64, true, 256, 9", "BF16, true, 256, 700"
  })
  void readsMatricesInWholeSectors(DType dtype, boolean transposeA, int m, int k) {
    var types = types(dtype, transposeA, m, k);
    var plans = plans(dtype, transposeA, m, k);
    assertThat(plans).isNotEmpty();
    for (var plan : plans) {
      var profile = OpProfile.run(plan, types, Gpu.H200, Long.MAX_VALUE).launches().getFirst();
      var load = dtype == DType.F64 ? "ld.global.nc.v2" : "ld.global.nc.v4";
      assertWholeSectors(profile, load);
      assertThat(MatmulProfileTest.rows(profile, load))
          .allSatisfy(row -> assertThat(row.global().bytes()).isEqualTo(16 * row.active()));
      if (transposeA) {
        assertNoConflicts(profile, "st.shared");
        assertNoConflicts(profile, "ld.shared");
        assertWholeSectors(profile, "st.global");
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "F16, false, 4096, 4096, gemv_f16_n32_a16",
    "F16, false, 4096, 4098, gemv_f16_n32_a4",
    "F32, false, 65536, 32, gemv_f32_n8_a16",
    "F32, true, 64, 65536, gemv_f32_t32_a16_split342",
    "F32, true, 65536, 64, gemv_f32_t32_a16"
  })
  void choosesLanesAndPartsByShape(DType dtype, boolean transposeA, int m, int k, String kernel) {
    assertThat(plans(dtype, transposeA, m, k).getFirst().kernel()).isEqualTo(kernel);
  }

  @Test
  void explainsThePartsOfK() {
    var plan = plans(DType.F32, true, 64, 65_536).getFirst();
    assertThat(plan.explain())
        .containsPattern(
            "\\* gemv_f32_t32_a16_split342: about [0-9.]+ us, split-K with 342 parts, 342"
                + " blocks, and a second launch")
        .containsPattern("  gemv_f32_t32_a16: about [0-9.]+ us, 1 blocks, 4 per multiprocessor");
    assertThat(plan.workspaceBytes()).isEqualTo(342 * 64 * 4);
    assertThat(plan.kernels()).hasSize(2);
  }

  /** Matmul uses the same kernels for one row of a or one column of b. */
  @ParameterizedTest
  @CsvSource({
    "F32, 1, 4096, 1024, false, gemv_f32_t32_a16",
    "F16, 1, 4096, 1024, true, gemv_f16_n32_a16",
    "F32, 4096, 1, 1024, false, gemv_f32_n32_a16",
    "F64, 1, 1, 1024, false, gemv_f64_n256_a16"
  })
  void matmulUsesThemForARowOrAColumn(
      DType dtype, int m, int n, int k, boolean transposeB, String kernel) {
    var plan =
        MATMUL.plan(
            Map.of(
                "a",
                TensorType.of(dtype, m, k),
                "b",
                transposeB ? TensorType.of(dtype, n, k) : TensorType.of(dtype, k, n)),
            Attributes.of(MATMUL.description(), Map.of("transposeB", transposeB)),
            TestDevices.H200);
    assertThat(plan.kernel()).startsWith(kernel);
  }

  /** The argmax of the logits is that of the exact product. */
  @ParameterizedTest
  @CsvSource({"F16, false", "F16, true", "BF16, false", "BF16, true"})
  void logitsHaveTheExactDirectionAndArgmax(DType dtype, boolean transposeA) {
    var draw = new Draw(new SplittableRandom(22));
    var inputs =
        Map.of(
            "a",
            transposeA ? draw.normal(dtype, 512, 333) : draw.normal(dtype, 333, 512),
            "x",
            draw.normal(dtype, 512));
    var attributes = attributes(Map.of("transposeA", transposeA));
    var exact = Objects.requireNonNull(GEMV.reference(inputs, attributes).get("y"));
    for (var plan : plans(dtype, transposeA, 333, 512)) {
      var result = Runner.run(plan, inputs, "y").toDoubles();
      assertThat(Tensors.cosine(result, exact)).as(plan.kernel()).isGreaterThan(0.9999);
      assertThat(Tensors.greatest(result)).as(plan.kernel()).isEqualTo(Tensors.greatest(exact));
    }
  }

  /** Kernels use no atomics: repeated runs are bit-identical, also with split K. */
  @Test
  void runsAreBitIdentical() {
    var draw = new Draw(new SplittableRandom(3));
    var inputs = Map.of("a", draw.normal(DType.F32, 1500, 7), "x", draw.normal(DType.F32, 1500));
    var plans = plans(DType.F32, true, 7, 1500);
    assertThat(plans).anySatisfy(plan -> assertThat(plan.kernel()).contains("split"));
    for (var plan : plans) {
      assertThat(bytes(plan, inputs, "y")).isEqualTo(bytes(plan, inputs, "y"));
    }
  }

  private static byte[] bytes(Plan plan, Map<String, HostTensor> inputs, String output) {
    return Tensors.bytes(Runner.run(plan, inputs, output));
  }

  @Test
  void rejectsInvalidMatricesAndVectors() {
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 2, 3, 4), "x", TensorType.of(DType.F32, 4)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"a\" has shape [2, 3, 4]; it must be [M, K]");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 3, 4), "x", TensorType.of(DType.F32, 4, 1)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"x\" has shape [4, 1]; it must be [K] = [4]");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 3, 4), "x", TensorType.of(DType.F32, 4)),
        Map.of("transposeA", true),
        OpException.ShapeMismatch.class,
        "x [4] has K = 4 but a [3, 4] with transposeA has K = 3; they must be equal");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 3, 4), "x", TensorType.of(DType.F16, 4)),
        Map.of(),
        OpException.UnsupportedDType.class,
        "x is f16 but a is f32; they must be the same");
    assertRejected(
        Map.of("a", TensorType.of(DType.F64, 3, 4), "x", TensorType.of(DType.F64, 4)),
        Map.of("outDtype", "f32"),
        OpException.UnsupportedDType.class,
        "outDtype of a product of f64 must be f64, got f32");
  }

  private static void assertRejected(
      Map<String, TensorType> inputs,
      Map<String, ?> attributes,
      Class<? extends OpException> kind,
      String message) {
    assertThatThrownBy(() -> GEMV.plan(inputs, attributes(attributes), TestDevices.H200))
        .isInstanceOf(kind)
        .hasMessage(message);
  }
}
