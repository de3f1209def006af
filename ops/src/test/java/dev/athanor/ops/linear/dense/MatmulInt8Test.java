package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.IntBinaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag(TestTier.THOROUGH_TAG)
class MatmulInt8Test {

  private static final MatmulInt8 MATMUL = new MatmulInt8();

  /** The elements of an operand. */
  enum Pattern {
    IDENTITY,
    ONES,
    ASCENDING,
    SIGNS,
    MINIMUM,
    MAXIMUM;

    private int value(int i, int j) {
      return switch (this) {
        case IDENTITY -> i == j ? 1 : 0;
        case ONES -> 1;
        case ASCENDING -> (i * 31 + j) % 256 - 128;
        case SIGNS -> (i + j) % 2 == 0 ? 127 : -128;
        case MINIMUM -> -128;
        case MAXIMUM -> 127;
      };
    }

    HostTensor tensor(int rows, int columns) {
      return filled(rows, columns, this::value);
    }
  }

  private static HostTensor filled(int rows, int columns, IntBinaryOperator value) {
    var tensor = HostTensor.zeros(TensorType.of(DType.I8, rows, columns));
    for (int i = 0; i < rows * columns; i++) {
      DType.I8.writeLong(tensor.data(), i, value.applyAsInt(i / columns, i % columns));
    }
    return tensor;
  }

  /** Asserts that every plan gives the exact sums. */
  private static void assertExact(HostTensor a, HostTensor b) {
    assertExact(a, b, Integer.MAX_VALUE);
  }

  private static void assertExact(HostTensor a, HostTensor b, int maxPlans) {
    var inputs = Map.of("a", a, "b", b);
    var attributes = attributes("i32");
    var expected = MATMUL.reference(inputs, attributes).get("c");
    var plans = Runner.plans(MATMUL, inputs, attributes);
    for (var plan : plans.subList(0, Math.min(maxPlans, plans.size()))) {
      var c = Runner.run(plan, inputs, "c");
      assertThat(c.type().dtype()).isEqualTo(DType.I32);
      assertThat(c.toDoubles()).as(plan.kernel()).isEqualTo(expected);
    }
  }

  /** The inputs of benchmarks: sums of bytes of the full range overflow f16 at such a depth. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "a=i8[2,4096] b=i8[4096,3] scale=f32[] outDtype=f16",
        "a=i8[2,4096] b=i8[4096,3] aScale=f32[2] bScale=f32[3] outDtype=f16"
      })
  void productsOfDrawnInputsFitF16(String text) {
    var problem = Problem.parse(MATMUL, text);
    var inputs = problem.draw(new SplittableRandom(1));
    var all = Objects.requireNonNull(MATMUL.reference(inputs, problem.attributes()).get("c"));
    assertThat(all).hasSize(6);
    assertThat(Arrays.stream(all).map(Math::abs).max().orElseThrow()).isBetween(0.1, 8.0);
    assertThat(MATMUL.reference(inputs, problem.attributes(), "c", new long[] {4, 0}))
        .containsExactly(all[4], all[0]);
  }

  private static Attributes attributes(String out) {
    return Attributes.of(MATMUL.description(), Map.of("outDtype", out));
  }

  @ParameterizedTest
  @EnumSource
  void multipliesPatternsExactly(Pattern pattern) {
    assertExact(pattern.tensor(17, 64), Pattern.ASCENDING.tensor(64, 40));
    assertExact(Pattern.ASCENDING.tensor(17, 64), pattern.tensor(64, 40));
    assertExact(pattern.tensor(16, 32), pattern.tensor(32, 8));
  }

  /** The largest products, none of which may saturate. */
  @ParameterizedTest
  @CsvSource({"MINIMUM, MINIMUM", "MINIMUM, MAXIMUM", "MAXIMUM, MAXIMUM"})
  void multipliesExtremesExactly(Pattern a, Pattern b) {
    assertExact(a.tensor(16, 64), b.tensor(64, 16));
    var scaled =
        Map.of(
            "a", a.tensor(16, 64),
            "b", b.tensor(64, 16),
            "scale", HostTensor.of(TensorType.of(DType.F32), 1));
    for (var c : Runner.all(MATMUL, scaled, Map.of("outDtype", "f32"), "c").values()) {
      assertThat(c).containsOnly(64.0 * a.value(0, 0) * b.value(0, 0));
    }
  }

  /** The largest K, with sums within 16384 of 2^31. */
  @Test
  void longestSumsFit() {
    int k = 131_071;
    int sum = k * 128 * 128;
    var inputs = Map.of("a", Pattern.MINIMUM.tensor(1, k), "b", Pattern.MINIMUM.tensor(k, 1));
    assertThat(Runner.run(MATMUL, inputs, Map.of("outDtype", "i32"), "c").toDoubles())
        .containsOnly(sum);
  }

  /** A single 1 copies each row of b, and each column of a, to its position. */
  @Test
  void singleOnesCopyRowsAndColumns() {
    for (int at = 0; at < 32; at++) {
      int one = at;
      assertExact(
          filled(16, 32, (i, j) -> i == one % 16 && j == one ? 1 : 0),
          Pattern.ASCENDING.tensor(32, 16));
      assertExact(
          Pattern.ASCENDING.tensor(16, 32),
          filled(32, 16, (i, j) -> i == one && j == one * 5 % 16 ? 1 : 0));
    }
  }

  /** Each fragment of a, 16x32, has its 1 at a different position, and so has each of b, 32x8. */
  @Test
  void singleOnesMayBeAnywhere() {
    assertExact(
        filled(16 * 512, 32, (i, j) -> i % 16 == i / 16 / 32 && j == i / 16 % 32 ? 1 : 0),
        Pattern.ASCENDING.tensor(32, 16),
        1);
    assertExact(
        Pattern.ASCENDING.tensor(16, 32),
        filled(32, 8 * 256, (i, j) -> j % 8 == j / 8 / 32 && i == j / 8 % 32 ? 1 : 0),
        1);
  }

  @ParameterizedTest
  @CsvSource({
    "16, 8, 32",
    "64, 64, 32",
    "64, 64, 128",
    "128, 128, 128",
    "256, 256, 256",
    "17, 8, 32",
    "16, 13, 32",
    "33, 65, 31"
  })
  void multipliesRandomBytesExactly(int m, int n, int k) {
    var draw = new Draw(new SplittableRandom(3));
    assertExact(
        draw.integers(-128, 127, TensorType.of(DType.I8, m, k)),
        draw.integers(-128, 127, TensorType.of(DType.I8, k, n)));
  }

  /** The sum is exact, and the scaled result is rounded as if once. */
  @Test
  void roundsScaledSumsOnce() {
    var a = filled(1, 1601, (_, j) -> j == 0 ? 1 : 127);
    var b = filled(1601, 1, (i, _) -> i == 0 ? 3 : 127);
    var inputs =
        Map.of(
            "a",
            a,
            "b",
            b,
            "aScale",
            HostTensor.of(TensorType.of(DType.F32, 1), 0.1f),
            "bScale",
            HostTensor.of(TensorType.of(DType.F32, 1), 0.3f));
    float nearest = (float) ((3 + 1600.0 * 127 * 127) * 0.1f * 0.3f);
    for (var plan : MATMUL.plans(HostTensor.types(inputs), attributes("f32"), TestDevices.H200)) {
      assertThat(Runner.run(plan, inputs, "c").toDoubles())
          .as(plan.kernel())
          .containsExactly(nearest);
    }
  }

  /** Bytes of b as [K, N] are transposed while they are read, without bank conflicts. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void kernelsHaveNoConflictsAndMoveWholeSectors(boolean transposeB) {
    var b = transposeB ? TensorType.of(DType.I8, 256, 128) : TensorType.of(DType.I8, 128, 256);
    var types = Map.of("a", TensorType.of(DType.I8, 128, 128), "b", b);
    for (var out : new String[] {"f16", "i32"}) {
      var attributes =
          Attributes.of(MATMUL.description(), Map.of("outDtype", out, "transposeB", transposeB));
      var plans =
          MATMUL.plans(types, attributes, OpProfile.capability(Gpu.H200)).stream()
              .filter(plan -> !plan.kernel().contains("_persistent_"))
              .toList();
      assertThat(plans).hasSize(8);
      for (var plan : plans) {
        for (var profile : OpProfile.run(plan, types, Gpu.H200, Long.MAX_VALUE).launches()) {
          for (var row : profile.rows()) {
            assertThat(row.shared().wavefronts())
                .as("%s at %s of %s", row.instruction(), row.instruction().source(), plan.kernel())
                .isEqualTo(row.shared().ideal());
            assertThat(row.global().sectors())
                .as("%s at %s of %s", row.instruction(), row.instruction().source(), plan.kernel())
                .isEqualTo(row.global().ideal());
          }
        }
      }
    }
  }

  @Test
  void rejectsInconsistentInputs() {
    var a = TensorType.of(DType.I8, 2, 3);
    var b = TensorType.of(DType.I8, 3, 5);
    var one = new TensorType(DType.F32, Shape.of());
    var rows = TensorType.of(DType.F32, 2);
    assertRejected(
        Map.of("a", a, "b", TensorType.of(DType.I8, 4, 5)),
        "f32",
        "b [4, 5] has K = 4 but a [2, 3] has K = 3; they must be equal");
    assertRejected(
        Map.of("a", a, "b", b, "aScale", rows),
        "f32",
        "either scale alone or both aScale and bScale must be given, got [aScale]");
    assertRejected(
        Map.of("a", a, "b", b, "aScale", rows, "bScale", rows),
        "f32",
        "bScale [2] has N = 2 but b [3, 5] has N = 5; they must be equal");
    assertRejected(
        Map.of("a", a, "b", b, "scale", rows),
        "f16",
        "input \"scale\" has shape [2]; it must be []");
    assertRejected(
        Map.of("a", a, "b", b, "scale", one),
        "i32",
        "outDtype i32 returns unscaled sums; omit the scales, or use outDtype f32, f16 or bf16");
    assertRejected(
        Map.of("a", a, "b", b, "bias", TensorType.of(DType.F32, 5)),
        "i32",
        "outDtype i32 returns sums without a bias; omit the bias, or use outDtype f32, f16 or bf16");
    assertRejected(
        Map.of("a", a, "b", b, "bias", TensorType.of(DType.F16, 5)),
        "bf16",
        "bias is f16 but c is bf16; it must be that or f32");
    assertRejected(
        Map.of("a", TensorType.of(DType.I8, 1, 131_072), "b", TensorType.of(DType.I8, 131_072, 1)),
        "i32",
        "a [1, 131072] has K = 131072; the maximum is 131071, as longer sums can"
            + " overflow i32");
  }

  private static void assertRejected(Map<String, TensorType> inputs, String out, String message) {
    assertThatThrownBy(() -> MATMUL.plans(inputs, attributes(out), TestDevices.H200))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }
}
