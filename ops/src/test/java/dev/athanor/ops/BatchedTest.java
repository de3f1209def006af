package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks that batched results are bit-identical to separate runs of the same kernel. */
@Tag(TestTier.THOROUGH_TAG)
class BatchedTest {

  /**
   * Compares each part of a batch with a separate run. {@code batched} names the inputs that have a
   * batch dimension.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "matmul | a=f32[3,33,20] b=f32[3,20,18] | a b",
        "matmul | a=f32[3,33,20] b=f32[20,18] | a",
        "matmul | a=f16[3,33,64] b=f16[3,64,24] | a b",
        "matmul | a=bf16[3,17,40] b=bf16[40,16] bias=bf16[16] activation=gelu | a",
        "softmax | x=f32[3,100] | x",
        "softmax | x=f16[3,5,64] causal=true | x",
        "rms-norm | x=f16[3,128] gamma=f16[128] | x",
        "layer-norm | x=f32[3,65] gamma=f32[65] beta=f32[65] | x",
        "residual-rms-norm | x=f16[3,64] residual=f16[3,64] gamma=f16[64] | x residual",
        "rope | x=f32[3,7,2,16] theta=10000 | x",
        "swiglu | gate=f16[3,40] up=f16[3,40] | gate up",
        "attention | q=f32[3,2,17,16] k=f32[3,2,20,16] v=f32[3,2,20,16] | q k v",
        "attention | q=f16[3,2,33,32] k=f16[3,1,33,32] v=f16[3,1,33,32] causal=true | q k v",
        "quantize | x=bf16[3,64] format=q4_1 | x",
        "quantize-fp8 | x=f16[3,2,200] per=group | x",
        "quantize-int8 | x=f16[3,64] per=row | x",
        "reduce | x=f32[3,100] | x",
        "argmax | x=f32[3,100] | x"
      })
  void batchesMatchSeparateRuns(String name, String text, String batched) {
    var op = Catalogue.load().find(name).orElseThrow();
    var problem = Problem.parse(op, text);
    var parts = List.of(batched.split(" ", -1));
    var inputs = problem.draw(new SplittableRandom(1));
    long count = type(problem.inputs(), parts.getFirst()).shape().extent(0);
    int compared = 0;
    try (var device = new EmulatedDevice()) {
      var kernels = new KernelCache(device);
      for (var plan : problem.plans(device.capability())) {
        var together = HostRun.of(device, kernels, plan, inputs).outputs();
        for (long part = 0; part < count; part++) {
          var alone = new HashMap<>(inputs);
          for (var input : parts) {
            alone.put(input, part(inputs, input, part));
          }
          var types = HostTensor.types(alone);
          var same =
              op.plans(types, problem.attributes(), device.capability()).stream()
                  .filter(each -> each.kernel().equals(plan.kernel()))
                  .findFirst();
          if (same.isEmpty()) {
            continue; // this kernel is offered for many rows only
          }
          compared++;
          for (var output : HostRun.of(device, kernels, same.get(), alone).outputs().entrySet()) {
            var whole = Objects.requireNonNull(together.get(output.getKey()));
            long bytes = output.getValue().data().byteSize();
            assertThat(whole.data().asSlice(part * bytes, bytes).mismatch(output.getValue().data()))
                .as("%s of part %d by %s", output.getKey(), part, plan.kernel())
                .isEqualTo(-1);
          }
        }
      }
    }
    assertThat(compared).isPositive();
  }

  /** Compares two runs of different numbers of rows with one run of all rows. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "matmul | a=f32[21,20] b=f32[20,18]",
        "matmul | a=f16[40,64] b=f16[64,24] bias=f16[24] activation=silu",
        "matmul | a=f16[40,256] b=f16[256,24]",
        "matmul | a=f32[5,3,20] b=f32[20,18]",
        "softmax | x=f16[9,64]",
        "softmax | x=f32[5,3,17] causal=true",
        "rms-norm | x=f16[9,128] gamma=f16[128]",
        "residual-layer-norm | x=f32[9,65] residual=f32[9,65] gamma=f32[65] beta=f32[65]",
        "gelu | x=f16[9,33]",
        "add | a=f32[9,33] b=f32[9,33]",
        "map | x0=f32[9,33] x1=f16[9,33] expression=exp(x0)*x1"
      })
  void sharedLaunchesMatchSeparateRuns(String name, String text) {
    var op = Catalogue.load().find(name).orElseThrow();
    var problem = Problem.parse(op, text);
    var own = op.rows(problem.inputs(), problem.attributes()).orElseThrow().inputs();
    var inputs = problem.draw(new SplittableRandom(2));
    long count = type(problem.inputs(), own.iterator().next()).shape().extent(0);
    long cut = 2 * count / 3;
    int compared = 0;
    try (var device = new EmulatedDevice()) {
      var kernels = new KernelCache(device);
      for (var plan : problem.plans(device.capability())) {
        var together = HostRun.of(device, kernels, plan, inputs).outputs();
        for (long[] range : new long[][] {{0, cut}, {cut, count}}) {
          var alone = new HashMap<>(inputs);
          own.forEach(input -> alone.put(input, rows(inputs, input, range[0], range[1])));
          var types = new HashMap<String, TensorType>();
          alone.forEach((input, tensor) -> types.put(input, tensor.type()));
          var same =
              op.plans(types, problem.attributes(), device.capability()).stream()
                  .filter(each -> each.kernel().equals(plan.kernel()))
                  .findFirst();
          if (same.isEmpty()) {
            continue; // this kernel is offered for many rows only
          }
          compared++;
          for (var output : HostRun.of(device, kernels, same.get(), alone).outputs().entrySet()) {
            var whole = Objects.requireNonNull(together.get(output.getKey()));
            long row = whole.type().bytes() / count;
            assertThat(
                    whole
                        .data()
                        .asSlice(range[0] * row, (range[1] - range[0]) * row)
                        .mismatch(output.getValue().data()))
                .as("%s of rows %d to %d by %s", output.getKey(), range[0], range[1], plan.kernel())
                .isEqualTo(-1);
          }
        }
      }
    }
    assertThat(compared).isPositive();
  }

  private static TensorType type(Map<String, TensorType> types, String name) {
    var type = types.get(name);
    if (type == null) {
      throw new IllegalArgumentException(name);
    }
    return type;
  }

  /** Returns one part, with a leading dimension of 1. */
  private static HostTensor part(Map<String, HostTensor> inputs, String name, long part) {
    return rows(inputs, name, part, part + 1);
  }

  private static HostTensor rows(
      Map<String, HostTensor> inputs, String name, long first, long end) {
    var whole = inputs.get(name);
    if (whole == null) {
      throw new IllegalArgumentException(name);
    }
    var extents = new ArrayList<>(whole.type().shape().extents());
    long row = whole.type().bytes() / extents.getFirst();
    extents.set(0, end - first);
    var type = new TensorType(whole.type().dtype(), new Shape(extents));
    return new HostTensor(type, whole.data().asSlice(first * row, type.bytes()));
  }
}
