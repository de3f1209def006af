package dev.athanor.ops.quant;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Tensors;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Three projections in one launch. */
class QkvTest {

  /** Weights 1, 2 and 3 give K, 2·K and 3·K, wherever a block's tile lies. */
  @ParameterizedTest
  @CsvSource({
    "false, 1, 32, 18, 34",
    "false, 65, 48, 34, 13",
    "true, 1, 32, 18, 34",
    "true, 65, 48, 34, 13"
  })
  void everyProjectionHasItsOwnWeights(boolean int4, int m, int k, int nq, int nkv) {
    var op = new QkvProject(int4);
    for (var in : List.of(DType.F16, DType.BF16)) {
      var inputs = new HashMap<String, HostTensor>();
      inputs.put("x", Tensors.filled(TensorType.of(in, m, k), 1));
      for (var letter : QkvProject.LETTERS) {
        int n = letter.equals("q") ? nq : nkv;
        int weight = 1 + QkvProject.LETTERS.indexOf(letter);
        inputs.put(
            "w" + letter,
            int4
                ? Tensors.filled(
                    TensorType.of(DType.U32, n, k / 8), (double) (0x11111111L * weight))
                : Tensors.filled(TensorType.of(DType.I8, k, n), weight));
        inputs.put(
            "scale" + letter.toUpperCase(Locale.ROOT),
            int4
                ? Tensors.filled(TensorType.of(DType.F16, 1, n), 1)
                : Tensors.filled(TensorType.of(DType.F32), 1));
      }
      var all = Runner.all(op, inputs, Map.of());
      assertThat(all.keySet()).anyMatch(name -> name.startsWith("mma"));
      assertThat(all.keySet()).anyMatch(name -> name.startsWith("gemv"));
      all.forEach((kernel, outputs) -> {
        for (int i = 0; i < 3; i++) {
          var output = Objects.requireNonNull(outputs.get(QkvProject.LETTERS.get(i)));
          assertThat(output.type()).isEqualTo(TensorType.of(DType.F16, m, i == 0 ? nq : nkv));
          assertThat(output.toDoubles()).as(kernel).containsOnly((i + 1.0) * k);
        }
      });
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void itIsOneLaunch(boolean int4) {
    var op = new QkvProject(int4);
    for (var problem : op.cases(new Random(1), false)) {
      for (var plan :
          op.plans(HostTensor.types(problem.inputs()), problem.attributes(), TestDevices.H200)) {
        assertThat(plan.kernels()).hasSize(1);
        assertThat(plan.workspaceBytes()).isZero();
      }
    }
  }

  /** Every run has the same bits, of every op here. */
  @Test
  void runsRepeatBitForBit() {
    for (Op op :
        List.of(
            new QkvProject(false),
            new QkvProject(true),
            new MatmulInt4(),
            new MatmulGguf(),
            new QuantizeInt8())) {
      var problem = op.cases(new Random(3), true).getFirst();
      for (var plan :
          op.plans(
              HostTensor.types(problem.inputs()),
              new Attributes(problem.attributes().values()),
              TestDevices.H200)) {
        var first = Runner.run(plan, problem.inputs());
        var second = Runner.run(plan, problem.inputs());
        for (var output : plan.outputs().keySet()) {
          assertThat(Tensors.bytes(Objects.requireNonNull(first.get(output))))
              .as("%s of %s", output, plan.kernel())
              .isEqualTo(Tensors.bytes(Objects.requireNonNull(second.get(output))));
        }
      }
    }
  }
}
