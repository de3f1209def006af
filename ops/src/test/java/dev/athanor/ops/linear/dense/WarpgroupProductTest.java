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
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Products with {@code wgmma}, on tiles of warpgroups. */
class WarpgroupProductTest {

  private static Problem problem(String text) {
    return Problem.parse(Runner.op("matmul"), text);
  }

  /** Runs every kernel of warpgroups with the sanitizer and returns their number. */
  private static int verify(String text, AsyncTiming timing) {
    var problem = problem(text);
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
        if (plan.kernel().contains("_groups_")) {
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
    assertThat(verify("a=f16[72,72] b=f16[72,136]", AsyncTiming.LAZY)).isPositive();
  }

  /** Edges of tiles along each extent, and stages that are not full. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=f16[136,72] b=f16[72,264]",
        "a=f16[72,136] b=f16[72,264] transposeA=true",
        "a=bf16[136,72] b=bf16[264,72] transposeB=true",
        "a=bf16[72,136] b=bf16[264,72] transposeA=true transposeB=true"
      })
  void allLayoutsMatchTheReference(String text) {
    assertThat(verify(text, AsyncTiming.LAZY)).isGreaterThanOrEqualTo(2);
  }

  /** More stages than the ring has, an epilogue, a batch, and parts of K. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=f16[72,392] b=f16[136,392] bias=f16[136] transposeB=true activation=gelu",
        "a=f16[3,72,264] b=f16[264,136]",
        "a=bf16[72,1160] b=bf16[1160,136] alpha=0.5 outDtype=f32"
      })
  void deepProductsMatchTheReference(String text) {
    for (var timing : List.of(AsyncTiming.EAGER, AsyncTiming.REORDERED)) {
      assertThat(verify(text, timing)).isPositive();
    }
  }

  /** Sums of fp8 would lose too many bits, and other types have no kernels of warpgroups. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "a=e4m3[256,256] b=e4m3[256,256] transposeB=true",
        "a=i8[256,256] b=i8[256,256] scale=f32[]",
        "a=f32[256,256] b=f32[256,256] precision=tf32"
      })
  void otherProductsUseWarps(String text) {
    var op = Runner.op(text.startsWith("a=i8") ? "matmul-int8" : "matmul");
    assertThat(Problem.parse(op, text).plans(TestDevices.H200))
        .isNotEmpty()
        .noneMatch(plan -> plan.kernel().contains("_groups_"));
  }

  @Test
  void explainsWhyUnalignedRowsUseWarps() {
    assertThat(
            problem("a=f16[256,260] b=f16[260,256]").plans(TestDevices.H200).getFirst().explain())
        .contains(
            "  matmul_f16_128x128x64x5_groups_nn_a8_b16_f16_c16: rows are aligned to 8 bytes;"
                + " warpgroups require 16");
  }

  @Test
  void hopperWithoutItsOwnFeaturesUsesWarps() {
    var other = TestDevices.of(Target.SM_90, 132, 232_448);
    assertThat(problem("a=f16[4096,4096] b=f16[4096,4096]").plans(other))
        .isNotEmpty()
        .noneMatch(plan -> plan.kernel().contains("_groups_"));
  }
}
