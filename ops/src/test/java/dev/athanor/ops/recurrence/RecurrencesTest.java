package dev.athanor.ops.recurrence;

import static dev.athanor.ops.Runner.op;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TestDevices;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What recurrences refuse, and that a given state is updated in its place. */
class RecurrencesTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          causal-convolution | x=f64[1,1,4] weight=f64[1,2] activation=silu \
          | activation silu is not supported for f64; use none or relu
          linear-attention | q=f32[1,1,1,1025] k=f32[1,1,1,1025] v=f32[1,1,1,4] \
          | input "k" has shape [1, 1, 1, 1025] with 1025 elements per key; the maximum is 1024
          """)
  void refusesWhatKernelsCannotCompute(String name, String text, String message) {
    assertThatThrownBy(() -> Problem.parse(op(name), text).plans(TestDevices.H200))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }

  @Test
  void queriesOfAStepMustFitInSharedMemory() {
    var text = "q=f32[1,1,64,1024] k=f32[1,1,1,1024] v=f32[1,1,1,4]";
    assertThatThrownBy(() -> Problem.parse(op("linear-attention"), text).plans(TestDevices.H200))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessageContaining("requires 266264 bytes of shared memory");
  }

  /** A step of decode reads and writes the state once: the only launch holds it in registers. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "causal-convolution | x=f16[8,64,1] weight=f16[64,4] state=f16[8,64,3]",
        "linear-attention | q=f32[1,1,4,64] k=f32[1,1,4,64] v=f32[1,1,4,64] state=f32[1,4,64,64]"
      })
  void updatesAGivenStateInOneLaunch(String name, String text) {
    for (var plan : Problem.parse(op(name), text).plans(TestDevices.H200)) {
      assertThat(plan.update()).contains(new Plan.Update("state", "next"));
      assertThat(plan.kernels()).hasSize(1);
      assertThat(plan.workspaceBytes()).isZero();
    }
  }
}
