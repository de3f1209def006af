package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Properties of all tensor-core kernels. */
@Tag(TestTier.THOROUGH_TAG)
class TensorMatmulTest {

  private static final Matmul MATMUL = new Matmul();

  /** Returns the plans on tensor cores. */
  private static List<LaunchPlan> plans(Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var types = HostTensor.types(inputs);
    return MATMUL
        .plans(types, Attributes.of(MATMUL.description(), attributes), TestDevices.H200)
        .stream()
        .map(LaunchPlan.class::cast)
        .filter(plan -> plan.steps().getFirst().variant() instanceof TensorVariant)
        .toList();
  }

  private static Map<String, Object> attributes(DType dtype, boolean tA, boolean tB) {
    var attributes = new HashMap<String, Object>(Map.of("transposeA", tA, "transposeB", tB));
    if (dtype == DType.F32) {
      attributes.put("precision", "tf32");
    } else {
      attributes.put("outDtype", "f32");
    }
    return attributes;
  }

  private static double[] c(LaunchPlan plan, Map<String, HostTensor> inputs) {
    return Runner.run(plan, inputs, "c").toDoubles();
  }

  private static HostTensor filled(TensorType type, boolean transposed, IntBinaryOperator value) {
    int rows = (int) type.shape().extent(0);
    int columns = (int) type.shape().extent(1);
    var stored = transposed ? TensorType.of(type.dtype(), columns, rows) : type;
    var tensor = HostTensor.zeros(stored);
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < columns; j++) {
        type.dtype()
            .write(
                tensor.data(),
                transposed ? (long) j * rows + i : (long) i * columns + j,
                value.applyAsInt(i, j));
      }
    }
    return tensor;
  }

  /**
   * Every element of c identifies its row of a and its column of b: a has one 1 in each row and b
   * counts, or vice versa. All numbers are exact in every dtype.
   */
  @ParameterizedTest
  @CsvSource({
    "F16, false, false",
    "F16, true, true",
    "BF16, true, false",
    "BF16, false, true",
    "F32, false, false",
    "F32, true, true",
    "E4M3, false, true",
    "E5M2, true, false",
    "E4M3, true, true",
    "E4M3, false, false"
  })
  void everyElementComesFromItsRowAndColumn(DType dtype, boolean tA, boolean tB) {
    int m = 80;
    int n = 144;
    int k = 48;
    // numbers with few bits that differ between neighbors and between the parts of warps
    IntBinaryOperator count = (i, j) -> (i * 5 + j * 3 + i / 16 + j / 16) % 8 - 3;
    var byRows =
        Map.of(
            "a", filled(TensorType.of(dtype, m, k), tA, (i, j) -> j == i * 7 % k ? 1 : 0),
            "b", filled(TensorType.of(dtype, k, n), tB, count));
    var byColumns =
        Map.of(
            "a", filled(TensorType.of(dtype, m, k), tA, count),
            "b", filled(TensorType.of(dtype, k, n), tB, (i, j) -> i == j * 5 % k ? 1 : 0));
    for (var plan : plans(byRows, attributes(dtype, tA, tB))) {
      var rows = c(plan, byRows);
      var columns = c(plan, byColumns);
      for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
          assertThat(rows[i * n + j])
              .as("%s at %d, %d", plan.kernel(), i, j)
              .isEqualTo(count.applyAsInt(i * 7 % k, j));
          assertThat(columns[i * n + j])
              .as("%s at %d, %d", plan.kernel(), i, j)
              .isEqualTo(count.applyAsInt(i, j * 5 % k));
        }
      }
    }
  }

  /** Each quadrant of a and b has its own value, which reveals exchanged parts of warps. */
  @Test
  void quadrantsStayInPlace() {
    var inputs =
        Map.of(
            "a", filled(TensorType.of(DType.F16, 64, 64), false, (i, j) -> 1 + i / 32 * 2 + j / 32),
            "b",
                filled(TensorType.of(DType.F16, 64, 64), false, (i, j) -> 5 + i / 32 * 2 + j / 32));
    for (var plan : plans(inputs, attributes(DType.F16, false, false))) {
      var c = c(plan, inputs);
      for (int i = 0; i < 64; i++) {
        for (int j = 0; j < 64; j++) {
          int upper = (1 + i / 32 * 2) * (5 + j / 32);
          int lower = (2 + i / 32 * 2) * (7 + j / 32);
          assertThat(c[i * 64 + j]).as(plan.kernel()).isEqualTo(32.0 * (upper + lower));
        }
      }
    }
  }

  /**
   * Whole fragments, odd edges, and K of 24 and 31, which are not multiples of an instruction's K.
   * Operands are padded with zeros.
   */
  @ParameterizedTest
  @CsvSource({
    "16, 8, 16",
    "32, 16, 32",
    "128, 8, 16",
    "64, 64, 64",
    "7, 5, 16",
    "15, 7, 16",
    "17, 9, 16",
    "33, 17, 16",
    "100, 50, 64",
    "64, 64, 24",
    "17, 9, 31"
  })
  void multipliesF16OfEveryShape(int m, int n, int k) {
    var draw = new Draw(new SplittableRandom(2));
    var inputs = Map.of("a", draw.normal(DType.F16, m, k), "b", draw.normal(DType.F16, k, n));
    var attributes = Attributes.of(MATMUL.description(), attributes(DType.F16, false, false));
    // far less than K·2⁻¹⁰·max|a|·max|b|
    Runner.verify(
        MATMUL, List.of(new Op.Case(inputs, attributes, Map.of("c", Tolerance.maximum(1e-4)))));
  }

  /**
   * Checks sampled elements of the first block's tile, and runs only this block. Tensor cores
   * truncate sums, so errors add up along K.
   */
  @ParameterizedTest
  @CsvSource({
    "F16, 1023, 1023, 1024, 1, 1",
    "BF16, 256, 256, 256, 1, 1",
    "BF16, 512, 512, 512, 200, 200",
    "BF16, 512, 512, 512, 2e14, 2e14",
    "BF16, 512, 512, 512, 1e-9, 1e-9",
    "BF16, 512, 512, 512, 2e-38, 1e10",
    "BF16, 2048, 2048, 2048, 1, 1",
    "BF16, 4096, 4096, 4096, 1, 1"
  })
  void tilesOfLargeProductsMatchTheReference(
      DType dtype, int m, int n, int k, double ofA, double ofB) {
    var draw = new Draw(new SplittableRandom(5));
    var inputs =
        Map.of(
            "a", draw.normal(0, ofA, TensorType.of(dtype, m, k)),
            "b", draw.normal(0, ofB, TensorType.of(dtype, k, n)));
    var attributes = Attributes.of(MATMUL.description(), attributes(dtype, false, false));
    var plan =
        plans(inputs, attributes(dtype, false, false)).stream()
            .filter(each -> each.steps().size() == 1)
            .findFirst()
            .orElseThrow();
    var tile = ((TensorVariant) plan.steps().getFirst().variant()).tile();
    var cells =
        new SplittableRandom(6)
            .longs(100, 0, (long) tile.m() * tile.n())
            .map(i -> i / tile.n() * n + i % tile.n())
            .toArray();
    var exact = MATMUL.reference(inputs, attributes, "c", cells);
    try (var device =
        new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withBlocks(1))) {
      var c = HostRun.of(device, new KernelCache(device), plan, inputs).outputs().get("c");
      for (int i = 0; i < cells.length; i++) {
        assertThat(Objects.requireNonNull(c).get(cells[i]) / (ofA * ofB))
            .as("%s at %d", plan.kernel(), cells[i])
            .isCloseTo(exact[i] / (ofA * ofB), within(1e-6 * k));
      }
    }
  }

  static Stream<Arguments> longSums() {
    var cases = new ArrayList<Arguments>();
    for (var target : List.of(Target.SM_89, Target.SM_90A)) {
      cases.add(Arguments.of(DType.E4M3, target, 1024, 1));
      cases.add(Arguments.of(DType.E4M3, target, 4096, 1));
      if (TestTier.current() == TestTier.SWEEP) {
        for (var dtype : List.of(DType.E4M3, DType.E5M2, DType.F16, DType.BF16, DType.F32)) {
          cases.add(Arguments.of(dtype, target, 4096, 99));
          cases.add(Arguments.of(dtype, target, 16384, 99));
        }
      }
    }
    return cases.stream();
  }

  /**
   * Ada keeps 13 bits of a sum of fp8, so a long sum of products of one sign would lose several
   * percent in its tensor cores.
   *
   * @param plans the maximum number of plans to run, of those that do not split K
   */
  @ParameterizedTest
  @MethodSource("longSums")
  void longSumsOfOneSignAreAccurate(DType dtype, Target target, int k, int plans) {
    var random = new SplittableRandom(12);
    var attributes = attributes(dtype, false, true);
    var limit =
        dtype == DType.F32 ? Matmul.TF32_TOLERANCE : ProductDescription.tolerance(dtype, k).limit();
    for (boolean wide : new boolean[] {false, true}) {
      var inputs =
          Map.of(
              "a", positive(random, wide, TensorType.of(dtype, 8, k)),
              "b", positive(random, wide, TensorType.of(dtype, 8, k)));
      var exact =
          Objects.requireNonNull(
              MATMUL.reference(inputs, Attributes.of(MATMUL.description(), attributes)).get("c"));
      var whole =
          plans(inputs, attributes).stream().filter(plan -> plan.workspaceBytes() == 0).toList();
      assertThat(whole).isNotEmpty();
      try (var device =
          new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(target).withBlocks(1))) {
        for (var plan : whole.subList(0, Math.min(plans, whole.size()))) {
          var c = HostRun.of(device, new KernelCache(device), plan, inputs).outputs().get("c");
          assertThat(Tolerance.maximum(0).error(Objects.requireNonNull(c).toDoubles(), exact))
              .as("%s, %s range of exponents", plan.kernel(), wide ? "wide" : "narrow")
              .isLessThanOrEqualTo(limit);
        }
      }
    }
  }

  /** Returns numbers from 0 to 1 or, if {@code wide}, of all magnitudes from 2^-7 to 2^7. */
  private static HostTensor positive(RandomGenerator random, boolean wide, TensorType type) {
    return HostTensor.of(
        type,
        random
            .doubles(type.shape().elements(), 0, 1)
            .map(x -> wide ? Math.pow(2, 14 * x - 7) : x)
            .toArray());
  }

  /** All tiles sum in the same order along K, unless K is split. */
  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16", "F32", "E4M3"})
  void allTilesAreBitIdentical(DType dtype) {
    var draw = new Draw(new SplittableRandom(7));
    var inputs = Map.of("a", draw.normal(dtype, 70, 130), "b", draw.normal(dtype, 130, 136));
    var bits =
        plans(inputs, attributes(dtype, false, false)).stream()
            .filter(plan -> plan.workspaceBytes() == 0)
            .map(plan -> Arrays.hashCode(c(plan, inputs)))
            .toList();
    assertThat(bits).hasSizeGreaterThanOrEqualTo(3);
    assertThat(bits.stream().distinct()).hasSize(1);
  }

  /** The partial sums of a split K are added in order. */
  @Test
  void splitRunsAreBitIdentical() {
    var draw = new Draw(new SplittableRandom(8));
    var inputs = Map.of("a", draw.normal(DType.F16, 20, 700), "b", draw.normal(DType.F16, 700, 24));
    var split =
        plans(inputs, attributes(DType.F16, false, false)).stream()
            .filter(plan -> plan.workspaceBytes() > 0)
            .toList();
    assertThat(split).isNotEmpty();
    for (var plan : split) {
      assertThat(plan.steps()).hasSize(2);
      assertThat(c(plan, inputs)).as(plan.kernel()).isEqualTo(c(plan, inputs));
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F16", "F32", "E5M2"})
  void batchesMatchSeparateRuns(DType dtype) {
    int m = 19;
    int n = 35;
    int k = 50;
    var draw = new Draw(new SplittableRandom(9));
    var a = draw.normal(dtype, 3, m, k);
    var b = draw.normal(dtype, k, n);
    var attributes = attributes(dtype, false, false);
    var batched = Map.of("a", a, "b", b);
    var single =
        plans(Map.of("a", part(a, 0), "b", b), attributes).stream()
            .collect(Collectors.toMap(LaunchPlan::kernel, Function.identity()));
    assertThat(single).isNotEmpty();
    for (var plan : plans(batched, attributes)) {
      var whole = c(plan, batched);
      for (int i = 0; i < 3 && single.containsKey(plan.kernel()); i++) {
        var own =
            c(Objects.requireNonNull(single.get(plan.kernel())), Map.of("a", part(a, i), "b", b));
        assertThat(Arrays.copyOfRange(whole, i * m * n, (i + 1) * m * n))
            .as(plan.kernel())
            .isEqualTo(own);
      }
    }
  }

  private static HostTensor part(HostTensor tensor, int index) {
    var shape = tensor.type().shape();
    var type = new TensorType(tensor.type().dtype(), Shape.of(shape.extent(1), shape.extent(2)));
    return new HostTensor(type, tensor.data().asSlice(index * type.bytes(), type.bytes()));
  }

  /** Products of bf16 keep its range, which is that of f32: nothing is converted to f16. */
  @ParameterizedTest
  @ValueSource(doubles = {1, 200, 2e14, 1e-9, 1e-18})
  void bf16KeepsItsRange(double magnitude) {
    var draw = new Draw(new SplittableRandom(10));
    for (int n : new int[] {32, 64}) {
      var type = TensorType.of(DType.BF16, n, n);
      var inputs =
          Map.of("a", draw.normal(0, magnitude, type), "b", draw.normal(0, magnitude, type));
      assertClose(inputs, x -> 1e-5 * magnitude * magnitude * 8);
    }
  }

  @Test
  void bf16MultipliesTinyNumbersWithLargeOnes() {
    var type = TensorType.of(DType.BF16, 32, 32);
    var a = HostTensor.zeros(type);
    var b = HostTensor.zeros(type);
    for (int i = 0; i < 32 * 32; i++) {
      DType.BF16.write(a.data(), i, 2e-38);
      DType.BF16.write(b.data(), i, 1e10);
    }
    assertClose(Map.of("a", a, "b", b), x -> 1e-5 * x);
  }

  /** Compares with float64; the limit may depend on the exact value. */
  private static void assertClose(Map<String, HostTensor> inputs, DoubleUnaryOperator limit) {
    var attributes = attributes(DType.BF16, false, false);
    var exact =
        Objects.requireNonNull(
            MATMUL.reference(inputs, Attributes.of(MATMUL.description(), attributes)).get("c"));
    for (var plan : plans(inputs, attributes)) {
      var c = c(plan, inputs);
      for (int i = 0; i < c.length; i++) {
        assertThat(Math.abs(c[i] - exact[i]))
            .as("%s at %d: %s, not %s", plan.kernel(), i, c[i], exact[i])
            .isLessThanOrEqualTo(limit.applyAsDouble(exact[i]));
      }
    }
  }

  /** 16-bit operands are not converted between shared memory and tensor cores. */
  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16"})
  void doesNotConvertOperands(DType dtype) {
    var draw = new Draw(new SplittableRandom(11));
    var inputs = Map.of("a", draw.normal(dtype, 64, 64), "b", draw.normal(dtype, 64, 64));
    for (var plan : plans(inputs, Map.of())) {
      var opcodes =
          plan.kernels().getFirst().instructions().map(Statement.Instruction::opcode).toList();
      boolean ofGroups = plan.kernel().contains("_groups_"); // wgmma reads shared memory
      var product = ofGroups ? "wgmma.mma_async" : "mma.";
      var last = opcodes.stream().filter(o -> o.startsWith(product)).findFirst().orElseThrow();
      var untilLast = opcodes.subList(0, opcodes.lastIndexOf(last));
      assertThat(untilLast.stream().anyMatch(o -> o.startsWith("ldmatrix")))
          .as(plan.kernel())
          .isNotEqualTo(ofGroups);
      assertThat(untilLast)
          .as(plan.kernel())
          .noneMatch(o -> o.startsWith("cvt.") && (o.contains("f16") || o.contains("f32")));
    }
  }

  /** tf32 has 11 bits, and ties round away from zero. */
  @Test
  void tf32RoundsOperandsToElevenBits() {
    var a = HostTensor.of(TensorType.of(DType.F32, 1, 3), 1 + 0x1p-11, 1 + 0x1p-12, -1 - 0x1p-11);
    var b = HostTensor.of(TensorType.of(DType.F32, 3, 3), 1, 0, 0, 0, 1, 0, 0, 0, 1);
    var inputs = Map.of("a", a, "b", b);
    for (var plan : plans(inputs, Map.of("precision", "tf32"))) {
      assertThat(c(plan, inputs)).containsExactly(1 + 0x1p-10, 1, -1 - 0x1p-10);
    }
    assertThat(plans(inputs, Map.of())).as("f32 is not rounded by default").isEmpty();
  }
}
