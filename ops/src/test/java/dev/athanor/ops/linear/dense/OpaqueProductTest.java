package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.LedgerEntry;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Variant;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Products with {@code wmma}, on devices whose tensor cores have opaque fragments. */
class OpaqueProductTest {

  private static final Target VOLTA = new Target(70, false);

  /** A GPU that a few blocks fill, so that problems are not split as for a large one. */
  private static final int FEW = 2;

  private static Problem problem(String text) {
    return Problem.parse(Runner.op("matmul"), text);
  }

  /** Returns the plans on tensor cores for a GPU of Volta. */
  private static List<LaunchPlan> plans(Problem problem, int multiprocessors) {
    return problem.plans(TestDevices.of(VOLTA, multiprocessors, 98_304)).stream()
        .map(LaunchPlan.class::cast)
        .filter(plan ->
            plan.steps().stream().anyMatch(step -> step.variant().name().contains("_wmma_")))
        .toList();
  }

  /** Runs every kernel of a product with the sanitizer and returns their number. */
  private static int verify(String text, int multiprocessors) {
    return verify(problem(text), multiprocessors);
  }

  private static int verify(Problem problem, int multiprocessors) {
    return verify(problem, problem.draw(new SplittableRandom(TestTier.seed())), multiprocessors);
  }

  private static int verify(Problem problem, Map<String, HostTensor> inputs, int multiprocessors) {
    var plans = plans(problem, multiprocessors);
    Runner.verify(problem, inputs, plans, VOLTA);
    return plans.size();
  }

  @Test
  void matchesTheReference() {
    assertThat(verify("a=f16[40,72] b=f16[72,136]", FEW)).isPositive();
  }

  /** Edges of tiles along each extent, all layouts, and all alignments of rows. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=f16[136,72] b=f16[72,264]",
        "a=f16[72,136] b=f16[72,264] transposeA=true",
        "a=f16[136,72] b=f16[264,72] transposeB=true",
        "a=f16[72,136] b=f16[264,72] transposeA=true transposeB=true",
        "a=f16[33,36] b=f16[36,68]",
        "a=f16[19,34] b=f16[34,70] outDtype=f32",
        "a=f16[35,17] b=f16[65,35] transposeA=true transposeB=true",
        "a=f16[1,1] b=f16[1,1]"
      })
  void allLayoutsMatchTheReference(String text) {
    assertThat(verify(text, FEW)).isGreaterThanOrEqualTo(2);
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource(
      delimiter = '|',
      value = {
        "a=f16[72,392] b=f16[136,392] bias=f16[136] transposeB=true activation=gelu | 2",
        "a=f16[3,40,264] b=f16[264,136] | 2",
        "a=f16[3,40,72] b=f16[3,72,24] alpha=0.5 | 2",
        "a=f16[40,1160] b=f16[1160,72] outDtype=f32 | 80",
        "a=f16[40,4104] b=f16[4104,24] | 2"
      })
  void deepProductsMatchTheReference(String text, int multiprocessors) {
    assertThat(verify(text, multiprocessors)).isPositive();
  }

  /** Volta's tensor cores truncate, so that the errors of sums of one sign add up along K. */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void longSumsOfOneSignAreAccurate() {
    var problem = problem("a=f16[8,16384] b=f16[16384,8] outDtype=f32");
    var random = new SplittableRandom(TestTier.seed());
    var inputs = new HashMap<String, HostTensor>();
    problem
        .inputs()
        .forEach((name, type) ->
            inputs.put(
                name,
                HostTensor.of(type, random.doubles(type.shape().elements(), 0, 1).toArray())));
    assertThat(verify(problem, inputs, FEW)).isPositive();
  }

  /** Producers that convert elements, and stages deeper than those of plain products. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource(
      delimiter = '|',
      value = {
        "matmul-backward | grad=f16[40,72] a=f16[40,56] b=f16[56,72]",
        "layer-norm-linear | x=f16[72,264] gamma=f16[264] beta=f16[264] w=f16[72,264] bias=f16[72]",
        "layer-norm-linear | x=f16[17,31] w=f16[19,31]",
        "matmul-int4 | a=f16[24,256] packed=u32[72,32] scales=f16[2,72]",
        "matmul-int4 | a=f16[24,256] packed=u32[256,9] scales=f16[2,72] zeros=u32[2,9] layout=awq",
        "matmul-gguf | a=f16[24,256] w=q4_k[72,256]",
        "qkv-project-int8 | x=f16[24,200] wq=i8[200,72] wk=i8[200,24] wv=i8[200,24]"
            + " scaleQ=f32[] scaleK=f32[] scaleV=f32[]"
      })
  void otherOpsMatchTheReference(String op, String text) {
    assertThat(verify(Problem.parse(Runner.op(op), text), 80)).isPositive();
  }

  /** Scales of sums need fragments with a specified layout. */
  @Test
  void weightsWithScalesOfSumsAreDecodedFirst() {
    var text = "a=f16[24,256] packed=u32[72,32] scales=f32[2,72]";
    assertThat(plans(Problem.parse(Runner.op("matmul-int4"), text), FEW))
        .isNotEmpty()
        .allMatch(plan -> plan.kernel().startsWith("decoded_"));
  }

  @Test
  void fewBlocksSplitK() {
    assertThat(plans(problem("a=f16[40,1160] b=f16[1160,72]"), 80))
        .anyMatch(plan -> plan.steps().size() == 2);
  }

  @Test
  void isTheFirstChoiceOfF16OnVoltaOnly() {
    var large = problem("a=f16[4096,4096] b=f16[4096,4096]");
    assertThat(large.plans(OpProfile.capability(Gpu.V100)).getFirst().kernel()).contains("_wmma_");
    for (var gpu : List.of(Gpu.T4, Gpu.A100, Gpu.H200)) {
      assertThat(large.plans(OpProfile.capability(gpu)))
          .isNotEmpty()
          .noneMatch(plan -> plan.kernel().contains("_wmma_"));
    }
    for (var other :
        List.of(
            "a=bf16[256,256] b=bf16[256,256]", "a=f32[256,256] b=f32[256,256] precision=tf32")) {
      assertThat(problem(other).plans(OpProfile.capability(Gpu.V100)))
          .isNotEmpty()
          .noneMatch(plan -> plan.kernel().contains("_wmma_"));
    }
  }

  /** A matrix keeps its registers, in one order, and nothing else uses them. */
  @Test
  void matricesKeepTheirRegisters() {
    for (var plan : plans(problem("a=f16[256,256] b=f16[256,256]"), FEW)) {
      var matrices = new TreeMap<String, String>();
      var all = plan.kernels().getFirst().instructions().toList();
      for (var each : all) {
        if (each.opcode().startsWith("wmma.")) {
          each.operands().stream()
              .filter(operand -> operand.registers().count() == 8)
              .forEach(matrix ->
                  matrix
                      .registers()
                      .forEach(register ->
                          assertThat(matrices.put(register.toString(), matrix.toString()))
                              .as("%s in %s", register, plan.kernel())
                              .isIn(null, matrix.toString())));
        }
      }
      assertThat(matrices).isNotEmpty();
      for (var each : all) {
        boolean clears = each.toString().matches(" *mov\\.f32 %\\w+, 0f0+;");
        if (!each.opcode().startsWith("wmma.") && !clears) {
          assertThat(registers(each)).as("%s", each).doesNotContainAnyElementsOf(matrices.keySet());
        }
      }
    }
  }

  private static List<String> registers(Instruction instruction) {
    return instruction.operands().stream()
        .flatMap(operand -> operand.registers().map(Object::toString))
        .toList();
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({"false, false", "true, true"})
  void loadsHaveNoBankConflicts(boolean transposeA, boolean transposeB) {
    var problem =
        problem(
            "a=f16[128,128] b=f16[128,128] transposeA=%s transposeB=%s"
                .formatted(transposeA, transposeB));
    for (var plan : plans(problem, FEW)) {
      for (var profile : OpProfile.run(plan, problem, Gpu.V100, Long.MAX_VALUE).launches()) {
        MatmulProfileTest.assertNoConflicts(profile, "wmma.load");
        MatmulProfileTest.assertNoConflicts(profile, "ld.shared");
      }
    }
  }

  /** Volta's assembler is that of CUDA 12; Turing is the oldest target of CUDA 13. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(ints = {70, 75})
  void assemblesWithoutSpills(int sm) {
    var target = new Target(sm, false);
    var assembler = LedgerEntry.assembler(target);
    var variants = new TreeMap<String, Variant>();
    for (var text :
        List.of(
            "matmul a=f16[1024,1024] b=f16[1024,1024]",
            "matmul a=f16[1024,1023] b=f16[1023,1025]",
            "matmul a=f16[1024,1024] b=f16[1024,1024] transposeA=true transposeB=true outDtype=f32",
            "matmul a=f16[64,4096] b=f16[64,4096] transposeB=true bias=f16[64] activation=gelu",
            "layer-norm-linear x=f16[2048,768] gamma=f32[768] beta=f32[768] w=f16[3072,768]",
            "matmul-int4 a=f16[2048,4096] packed=u32[4096,512] scales=f16[32,4096]",
            "matmul-gguf a=f16[2048,4096] w=q4_k[4096,4096]")) {
      var terms = text.split(" ", 2);
      for (var plan : plans(Problem.parse(Runner.op(terms[0]), terms[1]), 80)) {
        plan.steps().forEach(step -> variants.put(step.variant().name(), step.variant()));
      }
    }
    assertThat(variants).hasSizeGreaterThan(10);
    variants.values().parallelStream()
        .forEach(variant -> {
          var module = Legalizer.legalize(variant.build(), target);
          var usage = assembler.assemble(module.toString(), target).of(variant.name());
          assertThat(usage.spillStoreBytes()).as(variant.name()).isZero();
        });
  }
}
