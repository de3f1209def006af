package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is computed together is bit for bit what is computed alone by the same kernel. */
class BatchedTest {

  /**
   * A problem of a batch; the inputs named are those that have one, and each of its parts is a
   * problem of its own.
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
        "quantize-int8 | x=f16[3,64] per=row | x",
        "reduce | x=f32[3,100] | x",
        "argmax | x=f32[3,100] | x"
      })
  void aPartOfABatchIsWhatItIsAlone(String name, String text, String batched) {
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
            continue; // a kernel that pays for many only
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

  private static TensorType type(Map<String, TensorType> types, String name) {
    var type = types.get(name);
    if (type == null) {
      throw new IllegalArgumentException(name);
    }
    return type;
  }

  /** One part, which keeps a leading dimension of 1. */
  private static HostTensor part(Map<String, HostTensor> inputs, String name, long part) {
    var whole = inputs.get(name);
    if (whole == null) {
      throw new IllegalArgumentException(name);
    }
    var extents = new ArrayList<>(whole.type().shape().extents());
    extents.set(0, 1L);
    var type = new TensorType(whole.type().dtype(), new Shape(extents));
    return new HostTensor(type, whole.data().asSlice(part * type.bytes(), type.bytes()));
  }
}
