package dev.athanor.ops.move;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.run.HostRun;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PackedPlanTest {

  private static Problem problem(String name, String text) {
    return Problem.parse(Catalogue.load().find(name).orElseThrow(), text);
  }

  /** Returns the elements of a view. */
  private static HostTensor dense(HostTensor memory, Layout layout, TensorType type) {
    var dense = HostTensor.zeros(type);
    int bytes = type.dtype().bytes();
    for (long i = 0; i < type.shape().elements(); i++) {
      var at = CopyOp.indices(type.shape(), i);
      long from = layout.first();
      for (int d = 0; d < at.length; d++) {
        from += at[d] * layout.strides().get(d);
      }
      dense.data().asSlice(i * bytes, bytes).copyFrom(memory.data().asSlice(from * bytes, bytes));
    }
    return dense;
  }

  /** The results are those of dense inputs, bit for bit. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "softmax | x=f32[3,100] | x | 128,1 | 1",
        "matmul | a=f16[33,20] b=f16[20,19] | b | 1,24 | 0",
        "matmul | a=f32[1,4096] b=f32[4096,8] | a | 0,1 | 3",
        "add | a=bf16[4,6,8] b=bf16[8] | a | 8,64,1 | 7",
        "concat | x0=u8[5] x1=u8[7] | x1 | 3 | 15",
        "scale | x=f64[1] | x | 9 | 1"
      })
  void computesFromViews(String name, String text, String input, String strides, long first) {
    var problem = problem(name, text);
    var type = Objects.requireNonNull(problem.inputs().get(input));
    var layout = new Layout(Stream.of(strides.split(",", -1)).map(Long::valueOf).toList(), first);
    var random = new SplittableRandom(1);
    var memory = new Draw(random).usual(layout.range(type.dtype(), type.shape()));
    var inputs = new HashMap<>(problem.draw(random));
    inputs.put(input, dense(memory, layout, type));
    var options = EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      var kernels = new KernelCache(device);
      var plan = problem.plans(device.capability()).getFirst();
      var packed =
          new PackedPlan(plan, problem.inputs(), Map.of(input, layout), device.capability());
      assertThat(packed.isLoaded(kernels)).isFalse();
      packed.load(kernels);
      assertThat(packed.isLoaded(kernels)).isTrue();
      var expected = HostRun.of(device, kernels, plan, inputs).outputs();
      inputs.put(input, memory);
      var outputs = HostRun.of(device, kernels, packed, inputs).outputs();
      assertThat(outputs).hasSameSizeAs(expected);
      outputs.forEach((output, tensor) ->
          assertThat(tensor.data().mismatch(Objects.requireNonNull(expected.get(output)).data()))
              .as(output)
              .isEqualTo(-1));
      assertThat(packed.cost().bytes()).isGreaterThan(plan.cost().bytes());
      assertThat(packed.kernel()).endsWith(", " + plan.kernel());
      assertThat(packed.explain())
          .startsWith(
              "%s is a view, which %s copies to a dense tensor of %d bytes\n"
                  .formatted(input, packed.kernel().split(", ", 2)[0], type.bytes()))
          .endsWith(plan.explain());
      assertThat(packed.kernels()).containsAll(plan.kernels());
    }
  }

  @Test
  void knowsWhichLayoutsAreDense() {
    var shape = Shape.of(3, 1, 4);
    assertThat(Layout.denseStrides(shape)).containsExactly(4L, 4L, 1L);
    assertThat(new Layout(List.of(4L, 0L, 1L), 0).isDense(shape)).isTrue();
    assertThat(new Layout(List.of(4L, 4L, 1L), 1).isDense(shape)).isFalse();
    assertThat(new Layout(List.of(8L, 4L, 1L), 0).isDense(shape)).isFalse();
    assertThat(new Layout(List.of(8L, 4L, 1L), 2).range(DType.F16, shape))
        .isEqualTo(TensorType.of(DType.F16, 22));
  }
}
