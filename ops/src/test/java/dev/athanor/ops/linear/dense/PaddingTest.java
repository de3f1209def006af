package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Products whose operands are first copied to aligned rows. */
@Tag(TestTier.THOROUGH_TAG)
class PaddingTest {

  private static final Matmul MATMUL = new Matmul();

  private static Attributes attributes(boolean transposeA, boolean transposeB) {
    return Attributes.of(
        MATMUL.description(), Map.of("transposeA", transposeA, "transposeB", transposeB));
  }

  private static TensorType type(DType dtype, String extents) {
    return new TensorType(
        dtype, Shape.of(Stream.of(extents.split(",")).mapToLong(Long::parseLong).toArray()));
  }

  private static List<LaunchPlan> plans(Map<String, TensorType> types, Attributes attributes) {
    return MATMUL.plans(types, attributes, TestDevices.H200).stream()
        .map(LaunchPlan.class::cast)
        .toList();
  }

  /** Odd K, N and M, all transposes, broadcast batches, and split K. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "F16; 33,65; 65,37; false; false",
        "F16; 33,65; 37,65; false; true",
        "F16; 65,33; 65,37; true; false",
        "BF16; 65,33; 37,65; true; true",
        "F16; 33,64; 64,37; false; false",
        "F16; 33,65; 65,40; false; false",
        "BF16; 3,33,65; 3,65,37; false; false",
        "F16; 2,1,17,33; 1,3,33,21; false; false",
        "F16; 2,1,2,17,33; 1,3,2,33,21; false; false",
        "F16; 5,17,33; 33,21; false; false",
        "F16; 17,1037; 21,1037; false; true",
        "E4M3; 33,65; 65,37; false; false",
        "F32; 33,65; 65,37; false; false"
      })
  void paddedProductsMatchTheReference(
      DType dtype, String a, String b, boolean transposeA, boolean transposeB) {
    var draw = new Draw(new SplittableRandom(7));
    var inputs =
        Map.of("a", draw.normal(0, 1, type(dtype, a)), "b", draw.normal(0, 1, type(dtype, b)));
    var given =
        Attributes.of(
            MATMUL.description(),
            Map.of(
                "transposeA",
                transposeA,
                "transposeB",
                transposeB,
                "precision",
                dtype == DType.F32 ? "tf32" : "ieee"));
    var exact = Objects.requireNonNull(MATMUL.reference(inputs, given).get("c"));
    var depth = (int) type(dtype, a).shape().extent(transposeA ? -2 : -1);
    var padded =
        plans(HostTensor.types(inputs), given).stream()
            .filter(plan -> plan.kernel().endsWith("_padded"))
            .toList();
    assertThat(padded).isNotEmpty();
    var options = EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      var kernels = new KernelCache(device);
      for (var plan : padded) {
        var c = HostRun.of(device, kernels, plan, inputs).outputs().get("c");
        var tolerance =
            dtype == DType.F32
                ? MATMUL.tolerance("c", DType.F32, HostTensor.types(inputs), given)
                : ProductDescription.tolerance(dtype, depth);
        assertThat(tolerance.error(Objects.requireNonNull(c).toDoubles(), exact))
            .as(plan.kernel())
            .isLessThanOrEqualTo(tolerance.limit());
      }
    }
  }

  /** One copy is launched for each operand with unaligned rows. */
  @ParameterizedTest
  @CsvSource({
    "4096, 4095, 4096, false, false, 1",
    "4096, 4096, 4095, false, false, 1",
    "4096, 4096, 4095, false, true, 2",
    "4095, 4095, 4096, true, false, 2"
  })
  void padsLargeUnalignedProducts(
      int m, int n, int k, boolean transposeA, boolean transposeB, int copies) {
    var plan = plans(types(m, n, k, transposeA, transposeB), attributes(transposeA, transposeB));
    var first = plan.getFirst();
    assertThat(first.kernel()).endsWith("_padded").containsAnyOf("_a16_b16_", "_persistent_");
    assertThat(first.steps()).hasSize(copies + 1);
    assertThat(first.steps().subList(0, copies))
        .allSatisfy(step -> assertThat(step.variant()).isEqualTo(new PadVariant(2)));
    assertThat(first.workspaceBytes()).isGreaterThanOrEqualTo(copies * 4095L * 4096 * 2);
    assertThat(first.explain()).contains("after %d padding copies".formatted(copies));
  }

  @Test
  void doesNotPadSmallOrAlignedProducts() {
    var small = plans(types(64, 63, 65, false, false), attributes(false, false));
    assertThat(small.getFirst().kernel()).contains("_a2_b2_").doesNotContain("padded");
    assertThat(small).anySatisfy(plan -> assertThat(plan.kernel()).endsWith("_padded"));
    var aligned = plans(types(4096, 4096, 4096, false, false), attributes(false, false));
    assertThat(aligned).noneSatisfy(plan -> assertThat(plan.kernel()).endsWith("_padded"));
  }

  @Test
  void doesNotOfferCopiesThatNeedMuchMemory() {
    long most = TestDevices.H200.memoryBytes() / 8;
    int rows = Math.toIntExact(most / 2 / 4096);
    var fits = plans(types(64, rows - 128, 4095, false, true), attributes(false, true));
    var tooLarge = plans(types(64, rows + 128, 4095, false, true), attributes(false, true));
    assertThat(fits).anySatisfy(plan -> assertThat(plan.kernel()).endsWith("_padded"));
    assertThat(tooLarge).noneSatisfy(plan -> assertThat(plan.kernel()).endsWith("_padded"));
  }

  private static Map<String, TensorType> types(
      int m, int n, int k, boolean transposeA, boolean transposeB) {
    return Map.of(
        "a", transposeA ? TensorType.of(DType.F16, k, m) : TensorType.of(DType.F16, m, k),
        "b", transposeB ? TensorType.of(DType.F16, n, k) : TensorType.of(DType.F16, k, n));
  }
}
