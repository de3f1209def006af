package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MatmulPlannerTest {

  private static final Capability H200 = TestDevices.of(Target.of("sm_90a"), 132, 232_448);
  private static final Matmul MATMUL = new Matmul();

  @ParameterizedTest
  @CsvSource({
    "F32, 4096, 4096, 4096, matmul_f32_128x64x8_nn_a16_b16_c16",
    "F32, 512, 512, 4096, matmul_f32_128x64x8_nn_a16_b16_c16_split12",
    "F32, 128, 128, 65536, matmul_f32_128x64x8_nn_a16_b16_c16_split196",
    "F32, 128, 128, 64, matmul_f32_32x32x16_nn_a16_b16_c16",
    "F64, 128, 128, 65536, matmul_f64_64x64x16_mma_nn_a16_b16_c16_split98",
    "F64, 128, 128, 64, matmul_f64_32x32x16_mma_nn_a16_b16_c16",
    "F16, 4096, 4096, 4096, matmul_f16_persistent_128x256x4_cluster2_nn_f16",
    "BF16, 64, 64, 64, matmul_bf16_16x128x64x4_nn_a16_b16_bf16_c16",
    "F16, 16, 4096, 4096, matmul_f16_16x128x64x4_nn_a16_b16_split8",
    "F16, 64, 64, 16384, matmul_f16_16x128x64x4_nn_a16_b16_split64"
  })
  void choosesLargeTilesIfTheyFillTheDevice(DType dtype, int m, int n, int k, String kernel) {
    var plan = MATMUL.plan(inputs(dtype, m, n, k), attributes(Map.of()), H200);
    assertThat(plan.kernel()).isEqualTo(kernel);
    assertThat(plan.cost().flops()).isEqualTo(2.0 * m * n * k);
    assertThat(plan.cost().bytes())
        .isEqualTo(dtype.bytes() * ((double) m * k + (double) k * n + (double) m * n));
  }

  /** A tensor-core tile would be mostly padding. */
  @ParameterizedTest
  @CsvSource({"F16, 4", "BF16, 4", "F16, 8"})
  void tinyHalfProductsTakeNoTile(DType dtype, int size) {
    var type = TensorType.of(dtype, 2000, size, size);
    var types = Map.of("a", type, "b", type);
    for (var device : List.of(H200, TestDevices.of(Target.SM_80, 1, 166_912))) {
      assertThat(MATMUL.plan(types, attributes(Map.of()), device).kernel())
          .startsWith("matmul_%s_naive".formatted(dtype.text()));
    }
  }

  /** If there are few tiles, K is split over blocks, and a second launch adds the partial sums. */
  @ParameterizedTest
  @CsvSource({"F32, 128, 128", "F32, 512, 512", "F32, 64, 1024", "F64, 128, 128", "F64, 96, 200"})
  void splitsDeepProductsToFillTheDevice(DType dtype, int m, int n) {
    var plan = (LaunchPlan) MATMUL.plan(inputs(dtype, m, n, 65_536), attributes(Map.of()), H200);
    assertThat(plan.steps()).as(plan.kernel()).hasSize(2);
    var grid = plan.steps().getFirst().grid();
    assertThat(grid.x() * grid.y()).isGreaterThanOrEqualTo(132);
    assertThat(plan.workspaceBytes()).isEqualTo((long) m * n * dtype.bytes() * grid.y());
  }

  /** Persistent blocks share K if there are few tiles, each as deep a part of it. */
  @ParameterizedTest
  @CsvSource({
    "F16, 512, 512, 16384, 16, matmul_f16_persistent_128x256x4_cluster2_nn_f32_split16",
    "BF16, 256, 4096, 4096, 4, matmul_bf16_persistent_128x256x4_cluster2_nn_f32_split4",
    "F16, 1024, 1024, 16384, 4, matmul_f16_persistent_128x256x4_cluster2_nn_f32_split4",
    "F16, 256, 256, 16384, 32, matmul_f16_persistent_128x128x6_cluster2_nn_f32_split32"
  })
  void persistentBlocksShareDeepProducts(
      DType dtype, int m, int n, int k, int shares, String kernel) {
    var plan = (LaunchPlan) MATMUL.plan(inputs(dtype, m, n, k), attributes(Map.of()), H200);
    assertThat(plan.kernel()).isEqualTo(kernel);
    assertThat(plan.order()).contains("_wgmma_").endsWith("_split" + shares);
    assertThat(plan.workspaceBytes()).isEqualTo((long) m * n * shares * Float.BYTES);
    assertThat(plan.steps()).extracting(Step::dependent).containsExactly(false, true);
  }

  /** Exact sums do not depend on the shares. */
  @Test
  void sharesOfIntegersHaveTheOrderOfWholeProducts() {
    var types =
        Map.of("a", TensorType.of(DType.I8, 256, 8192), "b", TensorType.of(DType.I8, 4096, 8192));
    var op = new MatmulInt8();
    var attributes = Attributes.of(op.description(), Map.of("transposeB", true, "outDtype", "i32"));
    assertThat(op.plans(types, attributes, H200))
        .satisfiesOnlyOnce(plan ->
            assertThat(plan.kernel())
                .isEqualTo("matmul_i8_persistent_128x256x4_cluster2_nt_i32_split4"))
        .extracting(Plan::order)
        .containsOnly("matmul_i8_exact_nt_i32");
  }

  @ParameterizedTest
  @CsvSource({"F32, 64", "F32, 100", "F64, 64", "F64, 100"})
  void shallowProductsNeedOneLaunch(DType dtype, int k) {
    var plan = (LaunchPlan) MATMUL.plan(inputs(dtype, 128, 128, k), attributes(Map.of()), H200);
    assertThat(plan.steps()).as(plan.kernel()).hasSize(1);
  }

  /**
   * Two loops over products need one launch; three need one for each iteration of the outermost.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "F16; 64,1,128,256; 1,64,256,128; 1; matmul_f16_persistent_128x128x6_nn_f16",
        "F16; 64,128,256; 256,128; 1; matmul_f16_64x128x64x4_groups_nn_a16_b16_f16_c16",
        "F16; 8,64,128,256; 8,1,256,128; 1; matmul_f16_128x128x64x5_groups_nn_a16_b16_f16_c16",
        "F16; 256,128; 64,128,256; 1; matmul_f16_128x256x64x4_groups_nn_a16_b16_f16_c16",
        "F16; 2,1,16,16384; 1,2,16384,64; 2; matmul_f16_16x128x64x4_nn_a16_b16_split64",
        "BF16; 64,1,128,256; 1,64,256,128; 1; matmul_bf16_persistent_128x128x6_nn_bf16",
        "E4M3; 64,1,128,256; 1,64,256,128; 2; matmul_e4m3_persistent_128x128x6_nt_f32_transposed",
        "F32; 64,1,128,256; 1,64,256,128; 1; matmul_f32_128x64x8_nn_a16_b16_c16",
        "F32; 2,1,128,65536; 1,2,65536,128; 2; matmul_f32_128x64x8_nn_a16_b16_c16_split49",
        "F64; 64,1,128,256; 1,64,256,128; 1; matmul_f64_64x64x16_mma_nn_a16_b16_c16",
        "F32; 64,1,1,256; 1,64,256,128; 1; gemv_f32_t32_a16",
        "F32; 2,1,1,65536; 1,2,65536,128; 2; gemv_f32_t32_a16_split128",
        "F16; 3,1,4,128,256; 1,5,4,256,128; 3; matmul_f16_64x128x64x4_groups_nn_a16_b16_f16_c16"
      })
  void broadcastProductsNeedFewLaunches(
      DType dtype, String a, String b, int launches, String kernel) {
    var types = Map.of("a", type(dtype, a), "b", type(dtype, b));
    var plan = (LaunchPlan) MATMUL.plan(types, attributes(Map.of()), H200);
    assertThat(plan.kernel()).isEqualTo(kernel);
    assertThat(plan.steps()).hasSize(launches);
  }

  private static TensorType type(DType dtype, String extents) {
    return TensorType.of(dtype, Stream.of(extents.split(",")).mapToLong(Long::parseLong).toArray());
  }

  /** A weight matrix that all products of a batch share is read from memory once. */
  @Test
  void countsTheBytesOfBroadcastMatricesOnce() {
    var inputs =
        Map.of(
            "a", TensorType.of(DType.F16, 32, 128, 4096),
            "b", TensorType.of(DType.F16, 4096, 4096));
    var cost = MATMUL.plan(inputs, attributes(Map.of()), H200).cost();
    assertThat(cost.flops()).isEqualTo(2.0 * 32 * 128 * 4096 * 4096);
    assertThat(cost.bytes()).isEqualTo(2.0 * 4096 * (32 * 128 + 4096 + 32 * 128));
    var crossed =
        Map.of("a", TensorType.of(DType.F32, 2, 1, 8, 4), "b", TensorType.of(DType.F32, 3, 4, 8));
    assertThat(MATMUL.plan(crossed, attributes(Map.of()), H200).cost().bytes())
        .isEqualTo(4.0 * (2 * 8 * 4 + 3 * 4 * 8 + 6 * 8 * 8));
    var none =
        Map.of("a", TensorType.of(DType.F32, 0, 8, 4), "b", TensorType.of(DType.F32, 0, 4, 8));
    assertThat(MATMUL.plan(none, attributes(Map.of()), H200).cost().bytes()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "8, 8, a16_b16_f16_c16",
    "12, 8, a8_b16_f16_c16",
    "8, 6, a16_b4_f16_c4",
    "7, 5, a2_b2_f16_c2",
    "1, 2, a2_b4_f16_c4"
  })
  void choosesTheAccessWidthByAlignment(int k, int n, String access) {
    assertThat(MATMUL.plan(inputs(DType.F16, 40, n, k), attributes(Map.of()), H200).kernel())
        .endsWith(access);
  }

  @Test
  void explainsRejectedCandidates() {
    var small = TestDevices.of(Target.SM_80, 108, 50_000);
    var plan = MATMUL.plan(inputs(DType.F16, 4096, 4096, 64), attributes(Map.of()), small);
    assertThat(plan.explain())
        .startsWith(plan.kernel())
        .contains("* matmul_f16_128x128x32x3_nn_a16_b16_f16_c16: about ")
        .contains(
            "  matmul_f16_128x256x32x4_nn_a16_b16_f16_c16: requires 98304 bytes of shared"
                + " memory; the limit per block on test device is 50000")
        .contains("  CUDA cores: f16 uses tensor cores");
  }

  /** Sums that leave the tensor cores need additional registers. */
  @Test
  void fp8ExcludesTilesThatWouldSpill() {
    var plan =
        MATMUL.plan(
            inputs(DType.E4M3, 4096, 4096, 4096),
            attributes(Map.of()),
            TestDevices.of(Target.SM_89, 128, 101_376));
    var reason = "too few registers to promote fp8 sums every 32 elements along K";
    assertThat(plan.explain())
        .contains("  matmul_e4m3_128x256x64x4_nn_a16_b16_f32_c16: " + reason)
        .contains("  matmul_e4m3_128x128x128x3_nn_a16_b16_f32_c16: " + reason)
        .contains("* matmul_e4m3_128x128x64x3_nn_a16_b16_f32_c16: about ");
  }

  @Test
  void equalProblemsHaveEqualPlans() {
    var one = MATMUL.plan(inputs(DType.F32, 3, 4, 5), attributes(Map.of("alpha", 2)), H200);
    var other = MATMUL.plan(inputs(DType.F32, 3, 4, 5), attributes(Map.of("alpha", 2)), H200);
    assertThat(one).isEqualTo(other).hasSameHashCodeAs(other);
  }

  @Test
  void rejectsOldDevices() {
    assertThatThrownBy(() ->
            MATMUL.plan(
                inputs(DType.F32, 3, 4, 5),
                attributes(Map.of()),
                TestDevices.of(Target.of("sm_61"), 40, 65_536)))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessage(
            "test device (sm_61) cannot compute this product of f32: requires sm_70; the"
                + " device is sm_61; f32 uses CUDA cores");
  }

  /** Kernels for newer tensor cores are rewritten. */
  @ParameterizedTest
  @CsvSource({
    "F16, 70, matmul_f16_",
    "BF16, 75, matmul_bf16_",
    "E5M2, 86, matmul_e5m2_",
    "E4M3, 70, matmul_e4m3_"
  })
  void usesTheTilesOfTensorCoresOnOlderDevices(DType dtype, int sm, String kernel) {
    var device = TestDevices.of(new Target(sm, false), 80, 65_536);
    var plan = MATMUL.plan(inputs(dtype, 64, 64, 64), attributes(Map.of()), device);
    assertThat(plan.kernel()).startsWith(kernel);
  }

  @Test
  void rejectsOptionsThatDoNotSuitTheDtype() {
    assertRejected(
        inputs(DType.F16, 2, 2, 2),
        Map.of("precision", "tf32"),
        OpException.UnsupportedDType.class,
        "precision tf32 requires f32 inputs, got f16");
    var withBias = inputs(DType.E4M3, 2, 2, 2);
    withBias.put("bias", TensorType.of(DType.BF16, 2));
    assertRejected(
        withBias,
        Map.of("outDtype", "f16"),
        OpException.UnsupportedDType.class,
        "bias is bf16 but c is f16; it must be that or f32");
    assertRejected(
        Map.of("a", TensorType.of(DType.E4M3, 2, 3), "b", TensorType.of(DType.F16, 3, 5)),
        Map.of(),
        OpException.UnsupportedDType.class,
        "a is e4m3 but b is f16; they must be the same");
  }

  @Test
  void rejectsInconsistentShapesAndDtypes() {
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 2, 3), "b", TensorType.of(DType.F32, 4, 5)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "b [4, 5] has K = 4 but a [2, 3] has K = 3; they must be equal");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 2, 3), "b", TensorType.of(DType.F32, 3, 5)),
        Map.of("transposeA", true),
        OpException.ShapeMismatch.class,
        "b [3, 5] has K = 3 but a [2, 3] with transposeA has K = 2; they must be equal");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 3), "b", TensorType.of(DType.F32, 3, 5)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"a\" has shape [3]; it must be […a, M, K]");
    assertRejected(
        Map.of(
            "a", TensorType.of(DType.F32, 2, 3),
            "b", TensorType.of(DType.F32, 3, 5),
            "bias", TensorType.of(DType.F32, 3)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "bias [3] has N = 3 but b [3, 5] has N = 5; they must be equal");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 2, 3), "b", TensorType.of(DType.F16, 3, 5)),
        Map.of(),
        OpException.UnsupportedDType.class,
        "a is f32 but b is f16; they must be the same");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 2, 3), "b", TensorType.of(DType.F32, 3, 5)),
        Map.of("outDtype", "f16"),
        OpException.UnsupportedDType.class,
        "outDtype of a product of f32 must be f32, got f16");
    assertRejected(
        Map.of("a", TensorType.of(DType.BF16, 2, 3), "b", TensorType.of(DType.BF16, 3, 5)),
        Map.of("outDtype", "f64"),
        OpException.UnsupportedDType.class,
        "outDtype of a product of bf16 must be f16, bf16 or f32, got f64");
    assertRejected(
        Map.of("a", TensorType.of(DType.F64, 2, 3), "b", TensorType.of(DType.F64, 3, 5)),
        Map.of("activation", "gelu-tanh"),
        OpException.UnsupportedDType.class,
        "activation gelu-tanh is not supported for f64; use none or relu");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 1L << 31, 1), "b", TensorType.of(DType.F32, 1, 1)),
        Map.of(),
        OpException.TooLarge.class,
        "input \"a\" has shape [2147483648, 1]; the maximum extent is 2^31 - 1025");
  }

  private static void assertRejected(
      Map<String, TensorType> inputs,
      Map<String, ?> attributes,
      Class<? extends OpException> kind,
      String message) {
    assertThatThrownBy(() -> MATMUL.plan(inputs, attributes(attributes), H200))
        .isInstanceOf(kind)
        .hasMessage(message);
  }

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(MATMUL.description(), given);
  }

  private static Map<String, TensorType> inputs(DType dtype, long m, long n, long k) {
    return new HashMap<>(Map.of("a", TensorType.of(dtype, m, k), "b", TensorType.of(dtype, k, n)));
  }
}
