package dev.athanor.ops.convolution;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TestDevices;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which convolutions use tensor cores. */
class ConvolutionPlannerTest {

  /** Offsets of taps are kept in 32 bits, and a table of the taps in shared memory. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "x=f16[1,64,2,65536] weight=f16[8,64,3,1] dilations=256,1 before=512,0 | 2^31 - 1 elements",
        "x=f16[1,64,4096] weight=f16[8,64,2049] | a window has 2049 taps",
        "x=f32[1,64,9] weight=f32[8,64,3] | f32 uses CUDA cores",
      })
  void leavesWindowsThatAreTooLargeToThreads(String problem, String reason) {
    var plans = Problem.parse(op("convolution"), problem).plans(TestDevices.H200);
    assertThat(plans).singleElement().extracting(Plan::explain).asString().contains(reason);
  }

  @ParameterizedTest
  @CsvSource({"f16, sm_75, true", "bf16, sm_75, false", "bf16, sm_80, true"})
  void usesTensorCoresThatMultiplyTheDtype(String dtype, String target, boolean uses) {
    var problem = "x=%1$s[1,64,9] weight=%1$s[8,64,3]".formatted(dtype);
    var plans =
        Problem.parse(op("convolution"), problem)
            .plans(TestDevices.of(Target.of(target), 80, 65_536));
    assertThat(plans.size() > 1).isEqualTo(uses);
  }

  private static Op op(String name) {
    return Catalogue.load().find(name).orElseThrow();
  }
}
