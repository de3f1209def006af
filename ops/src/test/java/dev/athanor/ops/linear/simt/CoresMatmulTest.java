package dev.athanor.ops.linear.simt;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag(TestTier.THOROUGH_TAG)
class CoresMatmulTest {

  private static final Matmul MATMUL = new Matmul();

  private static List<? extends Plan> plans(
      Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var types = HostTensor.types(inputs);
    return MATMUL.plans(types, Attributes.of(MATMUL.description(), attributes), TestDevices.H200);
  }

  @ParameterizedTest
  @CsvSource({"64, 64, 64", "100, 200, 150", "17, 33, 19"})
  void f32ProductsMatchTheReference(int m, int n, int k) {
    var draw = new Draw(new SplittableRandom(1));
    var inputs = Map.of("a", draw.normal(DType.F32, m, k), "b", draw.normal(DType.F32, k, n));
    var exact =
        Objects.requireNonNull(
            MATMUL.reference(inputs, Attributes.of(MATMUL.description(), Map.of())).get("c"));
    for (var plan : plans(inputs, Map.of())) {
      var c = Runner.run(plan, inputs, "c").toDoubles();
      for (int i = 0; i < c.length; i++) {
        assertThat(Math.abs(c[i] - exact[i])).as("%s at %d", plan.kernel(), i).isLessThan(1e-4);
      }
      assertThat(Tolerance.relative(1e-4).error(c, exact)).as(plan.kernel()).isLessThan(1e-4);
    }
  }

  /** A multiprocessor of a GPU holds only one block of its 256 threads with 64 sums each. */
  @Test
  void onlyTheEmulatorGetsTheLargestTile() {
    var types =
        Map.of(
            "a", TensorType.of(DType.F32, 1024, 1024), "b", TensorType.of(DType.F32, 1024, 1024));
    var none = Attributes.of(MATMUL.description(), Map.of());
    try (var emulator = new EmulatedDevice()) {
      assertThat(MATMUL.plans(types, none, emulator.capability()).getFirst().kernel())
          .startsWith("matmul_f32_128x128x8_");
    }
    assertThat(MATMUL.plans(types, none, TestDevices.H200))
        .noneMatch(plan -> plan.kernel().startsWith("matmul_f32_128x128x8_"));
  }

  /** The naive kernel supports any shape, and is the fastest only for a single element. */
  @ParameterizedTest
  @CsvSource({"F32, 16, 16, 16", "F64, 33, 1, 5", "F64, 4096, 4096, 4096"})
  void offersTheNaiveKernelButNotFirst(DType dtype, int m, int n, int k) {
    var types = Map.of("a", TensorType.of(dtype, m, k), "b", TensorType.of(dtype, k, n));
    var plans =
        MATMUL.plans(types, Attributes.of(MATMUL.description(), Map.of()), TestDevices.H200);
    var naive = "matmul_%s_naive_nn".formatted(dtype.text());
    assertThat(plans).anySatisfy(plan -> assertThat(plan.kernel()).isEqualTo(naive));
    assertThat(plans.getFirst().kernel()).doesNotContain("naive");
  }

  /** Each product of a batch is bit-identical to a separate run of the same kernel. */
  @ParameterizedTest
  @CsvSource({"F32, 19, 35", "F64, 19, 35", "F32, 1, 35", "F16, 1, 40", "F32, 35, 1", "BF16, 1, 1"})
  void batchesMatchSeparateRuns(DType dtype, int m, int n) {
    int k = 600;
    var draw = new Draw(new SplittableRandom(4));
    var a = draw.normal(dtype, 3, 1, m, k);
    var b = draw.normal(dtype, 2, k, n);
    var bias = draw.normal(dtype, n);
    var attributes = Map.of("alpha", 0.3, "activation", "relu");
    var batched = Map.of("a", a, "b", b, "bias", bias);
    var byName =
        plans(batched, attributes).stream()
            .collect(Collectors.toMap(Plan::kernel, Function.<Plan>identity()));
    var results = new HashMap<String, byte[]>();
    for (int i = 0; i < 2; i++) {
      for (int j = 0; j < 3; j++) {
        var single =
            Map.of("a", part(a, j, Shape.of(m, k)), "b", part(b, i, Shape.of(k, n)), "bias", bias);
        var compared = new ArrayList<String>();
        for (var plan : plans(single, attributes)) {
          var same = byName.get(plan.kernel());
          if (same != null) {
            compared.add(plan.kernel());
            var whole =
                results.computeIfAbsent(
                    plan.kernel(), _ -> Tensors.bytes(Runner.run(same, batched, "c")));
            var own = Tensors.bytes(Runner.run(plan, single, "c"));
            int from = (j * 2 + i) * own.length;
            assertThat(Arrays.copyOfRange(whole, from, from + own.length))
                .as(plan.kernel())
                .isEqualTo(own);
          }
        }
        assertThat(compared)
            .hasSizeGreaterThanOrEqualTo(3)
            .anySatisfy(kernel -> assertThat(kernel).contains("_split"));
      }
    }
  }

  /** The weights of a layer are read once for all rows, not once for each matrix of a batch. */
  @ParameterizedTest
  @CsvSource({"F32, 1", "F16, 1", "BF16, 33", "F64, 5"})
  void mergesLeftMatricesThatShareTheRightOne(DType dtype, int m) {
    var b = TensorType.of(dtype, 96, 64);
    var attributes = Attributes.of(MATMUL.description(), Map.of());
    var batched =
        MATMUL.plans(
            Map.of("a", TensorType.of(dtype, 2, 4, m, 96), "b", b), attributes, TestDevices.H200);
    var flat =
        MATMUL.plans(
            Map.of("a", TensorType.of(dtype, 8L * m, 96), "b", b), attributes, TestDevices.H200);
    assertThat(batched)
        .extracting(plan -> ((LaunchPlan) plan).steps())
        .isEqualTo(flat.stream().map(plan -> ((LaunchPlan) plan).steps()).toList());
    assertThat(batched.getFirst().outputs()).containsValue(TensorType.of(dtype, 2, 4, m, 64));
  }

  private static HostTensor part(HostTensor tensor, int index, Shape shape) {
    var type = new TensorType(tensor.type().dtype(), shape);
    return new HostTensor(type, tensor.data().asSlice(index * type.bytes(), type.bytes()));
  }

  /** Element (i, j) is 1000·i + j, which identifies misplaced sums. */
  @Test
  void threadsStoreTheirOwnSums() {
    var a = HostTensor.zeros(TensorType.of(DType.F64, 64, 2));
    var b = HostTensor.zeros(TensorType.of(DType.F64, 2, 64));
    for (int i = 0; i < 64; i++) {
      DType.F64.write(a.data(), 2L * i, i);
      DType.F64.write(a.data(), 2L * i + 1, 1);
      DType.F64.write(b.data(), i, 1000);
      DType.F64.write(b.data(), 64L + i, i);
    }
    var inputs = Map.of("a", a, "b", b);
    for (var plan : plans(inputs, Map.of())) {
      var c = Runner.run(plan, inputs, "c").toDoubles();
      for (int i = 0; i < 64 * 64; i++) {
        assertThat(c[i]).as(plan.kernel()).isEqualTo(i / 64 * 1000 + i % 64);
      }
    }
  }
}
