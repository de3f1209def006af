package dev.athanor.ops.linear.simt;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Capability.Features;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LedgerEntry;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Products of f16, bf16, fp8 and tf32 on devices without tensor cores for them. */
class SimtProductTest {

  private static final Target VOLTA = new Target(70, false);

  private static List<? extends Plan> plans(Problem problem, int multiprocessors) {
    var device =
        new Capability(
            "test:0",
            "test device",
            VOLTA,
            "0",
            multiprocessors,
            1024,
            49_152,
            49_152,
            1L << 34,
            new Features(true, true, false, 0, true));
    return problem.plans(device);
  }

  /** Edges of tiles, all layouts and alignments of rows, epilogues, and shares of K. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=f16[136,72] b=f16[72,264]",
        "a=f16[72,136] b=f16[72,264] transposeA=true",
        "a=bf16[136,72] b=bf16[264,72] transposeB=true",
        "a=f16[72,136] b=f16[264,72] transposeA=true transposeB=true",
        "a=f16[33,36] b=f16[36,68] bias=f16[68] activation=gelu",
        "a=bf16[19,34] b=bf16[34,70] bias=f32[70] outDtype=f32",
        "a=f16[35,17] b=f16[65,35] transposeA=true transposeB=true alpha=0.5",
        "a=bf16[67,45] b=bf16[45,33]",
        "a=f16[3,40,72] b=f16[3,72,24]",
        "a=f16[40,4104] b=f16[4104,24]",
        "a=bf16[24,4097] b=bf16[33,4097] transposeB=true",
        "a=f32[65,130] b=f32[130,40] precision=tf32",
        "a=bf16[2,3] b=bf16[3,4]",
        "a=e4m3[40,72] b=e4m3[72,40]",
        "a=e5m2[33,36] b=e4m3[65,36] transposeB=true bias=f32[65] activation=relu outDtype=f16",
        "a=e4m3[35,17] b=e5m2[35,66] transposeA=true",
        "a=e5m2[24,4100] b=e5m2[4100,24]",
      })
  void matchesTheReference(String text) {
    var problem = Problem.parse(Runner.op("matmul"), text);
    var plans = plans(problem, 80);
    assertThat(plans).isNotEmpty();
    var inputs = problem.draw(new SplittableRandom(TestTier.seed()));
    Runner.verify(problem, inputs, plans, VOLTA);
  }

  /** Products with scales or quantized weights, and products that compute their left factor. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "matmul-fp8",
        "matmul-gguf",
        "matmul-int4",
        "qkv-project-int4",
        "qkv-project-int8",
        "layer-norm-linear"
      })
  void othersMatchTheReference(String name) {
    var op = Runner.op(name);
    var random = new SplittableRandom(TestTier.seed());
    for (var each : op.cases(random, true)) {
      var problem = new Problem(op, HostTensor.types(each.inputs()), each.attributes());
      var plans = plans(problem, 80);
      assertThat(plans).anyMatch(plan -> !usesMatrixInstructions(plan));
      Runner.verify(problem, each.inputs(), plans, VOLTA);
    }
  }

  /** The sequences that replace matrix instructions take minutes to compile on some drivers. */
  @ParameterizedTest
  @ValueSource(strings = {"f16", "bf16", "e4m3"})
  void usesNoMatrixInstructions(String dtype) {
    var text = "a=%1$s[4096,4096] b=%1$s[4096,4096]".formatted(dtype);
    var problem = Problem.parse(Runner.op("matmul"), text);
    assertThat(plans(problem, 80)).noneMatch(SimtProductTest::usesMatrixInstructions);
  }

  private static boolean usesMatrixInstructions(Plan plan) {
    return plan.kernels().stream()
        .flatMap(each -> each.instructions())
        .anyMatch(each -> each.opcode().startsWith("mma"));
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({"bf16, sm_75", "bf16, sm_70", "f16, sm_70", "e4m3, sm_70"})
  void assemblesWithoutSpills(String dtype, String name) {
    var target = Target.of(name);
    for (var transposes : List.of("", " transposeB=true", " transposeA=true")) {
      var text = "a=%1$s[4096,4096] b=%1$s[4096,4096]".formatted(dtype) + transposes;
      for (var plan : plans(Problem.parse(Runner.op("matmul"), text), 80)) {
        for (var kernel : plan.kernels()) {
          var module = Legalizer.legalize(Module.of(kernel), target);
          var assembled =
              LedgerEntry.assemble(LedgerEntry.assembler(target), kernel.name(), module, target);
          assertThat(assembled.entry().spilled()).as(kernel.name()).isZero();
        }
      }
    }
  }
}
