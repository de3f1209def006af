package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Products of persistent blocks whose warpgroups have roles. */
class PersistentProductTest {

  private static int verify(String op, String text, AsyncTiming timing) {
    var problem = Problem.parse(Runner.op(op), text);
    var inputs = problem.draw(new SplittableRandom(TestTier.seed()));
    var exact =
        Objects.requireNonNull(problem.op().reference(inputs, problem.attributes()).get("c"), "c");
    var dtype = Objects.requireNonNull(problem.inputs().get("a")).dtype();
    var tolerance = ProductDescription.tolerance(dtype, 1); // the same for every depth
    var options =
        EmulatorOptions.DEFAULT
            .withTarget(Target.SM_90A)
            .withSanitize(Sanitize.FULL)
            .withAsyncTiming(timing);
    int verified = 0;
    try (var device = new EmulatedDevice(options)) {
      var kernels = new KernelCache(device);
      for (var plan : problem.plans(TestDevices.SMALL)) {
        if (plan.kernel().contains("_persistent_")) {
          var c = HostRun.of(device, kernels, plan, inputs).outputs().get("c");
          assertThat(tolerance.error(Objects.requireNonNull(c).toDoubles(), exact))
              .as(plan.kernel())
              .isLessThanOrEqualTo(tolerance.limit());
          verified++;
        }
      }
    }
    return verified;
  }

  @Test
  void matchesTheReference() {
    assertThat(verify("matmul", "a=f16[264,456] b=f16[264,456] transposeB=true", AsyncTiming.LAZY))
        .isEqualTo(4);
  }
}
