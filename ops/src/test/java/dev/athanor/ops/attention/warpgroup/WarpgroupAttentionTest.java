package dev.athanor.ops.attention.warpgroup;

import static dev.athanor.engine.analysis.sass.InstructionClass.HGMMA;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attention by blocks whose warpgroups have roles. */
class WarpgroupAttentionTest {

  static final EmulatorOptions OPTIONS =
      EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withSanitize(Sanitize.FULL);

  static Problem problem(String text) {
    return Problem.parse(Runner.op("attention"), text);
  }

  static List<? extends Plan> plans(Problem problem) {
    return problem.plans(TestDevices.SMALL).stream()
        .filter(plan -> plan.kernel().contains("_groups_"))
        .toList();
  }

  /** Compares every kernel of warpgroups with the reference; returns their number. */
  private static int verify(String text, EmulatorOptions options) {
    var problem = problem(text);
    return verify(problem, problem.draw(new SplittableRandom(TestTier.seed())), options);
  }

  static int verify(Problem problem, Map<String, HostTensor> inputs, EmulatorOptions options) {
    var exact = problem.op().reference(inputs, problem.attributes());
    var dtype = Tensors.get(inputs, "q").type().dtype();
    var plans = plans(problem);
    try (var device = new EmulatedDevice(options)) {
      var kernels = new KernelCache(device);
      for (var plan : plans) {
        HostRun.of(device, kernels, plan, inputs)
            .outputs()
            .forEach((name, output) -> {
              var tolerance =
                  name.equals("out") ? AttentionProblem.tolerance(dtype) : Tolerance.maximum(1e-5);
              assertThat(
                      tolerance.error(
                          output.toDoubles(), Objects.requireNonNull(exact.get(name), name)))
                  .as("%s of %s", name, plan.kernel())
                  .isLessThanOrEqualTo(tolerance.limit());
            });
      }
    }
    return plans.size();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "q=f16[200,64] k=f16[300,64] v=f16[300,64] causal=true withLse=true",
        "q=bf16[1,4,130,128] k=bf16[1,2,260,128] v=bf16[1,2,260,128]"
      })
  void matchesTheReference(String text) {
    assertThat(verify(text, OPTIONS)).isEqualTo(2);
  }

  /**
   * Ragged tiles of queries and keys, head sizes between panels, masks, and queries without keys.
   */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "q=bf16[97,8] k=bf16[1,8] v=bf16[1,8] withLse=true",
        "q=f16[2,6,129,96] k=f16[2,2,257,96] v=f16[2,2,257,40] causal=true withLse=true",
        "q=f16[200,64] k=f16[500,64] v=f16[500,64] causal=true window=70 withLse=true",
        "q=bf16[300,72] k=bf16[299,72] v=bf16[299,72] window=33",
        "q=f16[300,64] k=f16[40,64] v=f16[40,64] alignment=top-left causal=true window=9",
        "q=f16[100,128] k=f16[700,128] v=f16[700,128] alignment=top-left causal=true",
        "q=bf16[140,192] k=bf16[230,192] v=bf16[230,128] causal=true withLse=true",
        "q=f16[130,256] k=f16[170,256] v=f16[170,256] scale=0.3",
        "q=f16[150,16] k=f16[260,16] v=f16[260,200] causal=true",
        "q=f16[200,64] k=f16[301,64] v=f16[301,64] softcap=2 scale=0.3 withLse=true",
        "q=bf16[1,4,130,128] k=bf16[1,2,260,128] v=bf16[1,2,260,128] softcap=5 causal=true window=70",
        "q=f16[97,96] k=f16[97,96] v=f16[97,40] softcap=0.5 window=9 withLse=true",
        "q=bf16[140,192] k=bf16[230,192] v=bf16[230,128] softcap=20 causal=true withLse=true",
        "q=f16[130,256] k=f16[170,256] v=f16[170,256] softcap=50 causal=true window=33 withLse=true"
      })
  void awkwardShapesMatchTheReference(String text) {
    assertThat(verify(text, OPTIONS)).isPositive();
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void manyKeysMatchTheReference() {
    assertThat(verify("q=f16[65,64] k=f16[4099,64] v=f16[4099,64] causal=true", OPTIONS))
        .isPositive();
  }

  /** The first queries see no key. */
  @Test
  void queriesWithoutKeysYieldZeros() {
    var problem = problem("q=f16[300,64] k=f16[20,64] v=f16[20,64] causal=true withLse=true");
    var inputs = problem.draw(new SplittableRandom(TestTier.seed()));
    for (var plan : plans(problem)) {
      var outputs = Runner.run(plan, inputs);
      for (int row = 0; row < 280; row++) {
        assertThat(Tensors.get(outputs, "lse").get(row)).isEqualTo(Double.NEGATIVE_INFINITY);
        assertThat(Tensors.get(outputs, "out").get(row * 64L + row % 64)).isZero();
      }
      assertThat(Tensors.get(outputs, "lse").get(280)).isFinite();
    }
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @EnumSource
  void allTimingsAndSchedulesMatchTheReference(AsyncTiming timing) {
    for (var schedule : Schedule.values()) {
      var options =
          OPTIONS.withAsyncTiming(timing).withSchedule(schedule).withSeed(TestTier.seed());
      assertThat(
              verify("q=f16[1,2,150,64] k=f16[1,1,530,64] v=f16[1,1,530,64] causal=true", options))
          .isPositive();
    }
  }

  /**
   * Hidden NaNs and infinities change no bit, whether in a tile of the diagonal or of the edge of a
   * window; a query that sees an infinite value gets it.
   */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "f16, 64, 200, 200, 0, 100, NaN",
    "f16, 64, 200, 200, 0, 130, Infinity",
    "bf16, 128, 150, 400, 70, 330, -Infinity",
    "f16, 200, 140, 140, 0, 139, NaN"
  })
  void hiddenKeysAndValuesHaveNoInfluence(
      String dtype, int d, int sq, int sk, int window, int hole, double special) {
    var problem =
        problem(
            "q=%1$s[%2$d,%4$d] k=%1$s[%3$d,%4$d] v=%1$s[%3$d,%4$d] causal=true withLse=true window=%5$d"
                .formatted(dtype, sq, sk, d, window));
    var finite = problem.draw(new SplittableRandom(TestTier.seed()));
    var inputs = new HashMap<>(finite);
    for (var name : List.of("k", "v")) {
      var tensor = Tensors.copy(Tensors.get(finite, name));
      for (int c = 0; c < d; c++) {
        tensor.type().dtype().write(tensor.data(), (long) hole * d + c, special);
      }
      inputs.put(name, tensor);
    }
    var value = new HashMap<>(finite);
    value.put("v", Tensors.get(inputs, "v"));
    assertThat(plans(problem)).isNotEmpty();
    for (var plan : plans(problem)) {
      var baseline = Runner.run(plan, finite);
      var both = Runner.run(plan, inputs);
      var onlyValue = Tensors.get(Runner.run(plan, value), "out");
      for (int row = 0; row < sq; row++) {
        int position = row + sk - sq;
        boolean seen = hole <= position && (window == 0 || hole > position - window);
        for (int c = 0; c < d; c++) {
          long at = (long) row * d + c;
          double expected = Tensors.get(baseline, "out").get(at);
          assertThat(onlyValue.get(at))
              .as("%s, row %d", plan.kernel(), row)
              .isEqualTo(seen ? Double.valueOf(special) : Double.valueOf(expected));
          if (!seen) {
            assertThat(Tensors.get(both, "out").get(at)).isEqualTo(expected);
          }
        }
        if (!seen) {
          assertThat(Tensors.get(both, "lse").get(row))
              .isEqualTo(Tensors.get(baseline, "lse").get(row));
        }
      }
    }
  }

  /** Sections of heads, the last of which is smaller, have all tiles. */
  @Test
  void sectionsOfHeadsHaveAllTiles() {
    var problem = problem("q=f16[1,6,200,64] k=f16[1,3,200,64] v=f16[1,3,200,64] causal=true");
    var inputs = problem.draw(new SplittableRandom(TestTier.seed()));
    var plan = (LaunchPlan) plans(problem).getFirst();
    var step = plan.steps().getFirst();
    assertThat(step.arguments().slots()).containsEntry("section", Slot.of(6));
    var expected = Tensors.get(Runner.run(plan, inputs), "out");
    for (int section : new int[] {1, 4}) {
      var arguments = Arguments.NONE;
      for (var slot : step.arguments().slots().entrySet()) {
        arguments =
            slot.getKey().equals("section")
                ? arguments.with("section", section)
                : arguments.with(slot.getKey(), slot.getValue());
      }
      var other =
          new Step(step.variant(), step.grid(), step.block(), step.sharedBytes(), arguments);
      var changed =
          new LaunchPlan(
              plan.kernel(), plan.outputs(), List.of(other), 0, plan.cost(), plan.explain());
      Tensors.equalBits(Tensors.get(Runner.run(changed, inputs), "out"), expected);
    }
  }

  /** Plans of one order give a query the same bits, wherever it is in a block. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {"", "causal=true", "causal=true window=50", "causal=true window=50 softcap=3"})
  void bitsOfAQueryDependOnTheOrderOnly(String attributes) {
    var text = "q=f16[%d,64] k=f16[300,64] v=f16[300,64] " + attributes;
    var all = problem(text.formatted(230));
    var inputs = all.draw(new SplittableRandom(TestTier.seed()));
    int count = 130;
    // the last queries, which have the same positions
    var some = problem(text.formatted(count));
    var last = new HashMap<>(inputs);
    var q = Tensors.get(inputs, "q");
    last.put("q", Tensors.slice(q, 100 * 64, TensorType.of(DType.F16, count, 64)));
    var outputs = new HashMap<String, HostTensor>();
    for (var plan : plans(all)) {
      var out = Tensors.get(Runner.run(plan, inputs), "out");
      var rows = Tensors.slice(out, 100 * 64, TensorType.of(DType.F16, count, 64));
      Tensors.equalBits(
          Objects.requireNonNullElse(outputs.putIfAbsent(plan.order(), rows), rows), rows);
    }
    assertThat(outputs).hasSize(1);
    for (var plan : plans(some)) {
      Tensors.equalBits(
          Tensors.get(Runner.run(plan, last), "out"), Tensors.get(outputs, plan.order()));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "q=f16[256,200] k=f16[256,200] v=f16[256,200] softcap=5 mask=bool[256,256] | registers suffice for a softcap and a mask up to head size 192",
        "q=f16[256,144] k=f16[256,144] v=f16[256,144] softcap=5 window=64 causal=true withLse=true | registers do not suffice for a softcap, a window and lse at head sizes between 128 and 256",
        "q=f16[256,264] k=f16[256,264] v=f16[256,64] | computes head sizes up to 256",
        "q=f16[256,64] k=f16[256,64] v=f16[256,68] | rows are aligned to 8 bytes; the tensor memory accelerator requires 16",
        "q=f16[64,64] k=f16[256,64] v=f16[256,64] | smaller tiles waste less of each block"
      })
  void explainsWhyOtherKernelsAreUsed(String text, String reason) {
    var plan = problem(text).plans(TestDevices.H200).getFirst();
    assertThat(plan.explain()).containsPattern("  attention_f16_\\S+_groups_\\S+: " + reason);
    assertThat(plan.kernel()).doesNotContain("_groups_");
  }

  @Test
  void gridsAreLimited() {
    var huge = problem("q=f16[65536,65536,128,8] k=f16[65536,65536,1,8] v=f16[65536,65536,1,8]");
    assertThatThrownBy(() -> huge.plans(TestDevices.H200))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessageContaining("requires 4294967296 blocks; the limit is 2^31 - 1");
  }

  @Test
  void otherTargetsUseWarps() {
    var other = TestDevices.of(Target.SM_90, 132, 232_448);
    var plan = problem("q=f16[1024,64] k=f16[1024,64] v=f16[1024,64]").plans(other).getFirst();
    assertThat(plan.kernel()).doesNotContain("_groups_");
    assertThat(plan.explain())
        .contains("attention_f16_d64_groups_128x128x4: requires sm_90a; the device is sm_90");
  }

  /** The assembler neither serializes products nor spills. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "q=f16[512,64] k=f16[512,64] v=f16[512,64]",
        "q=bf16[512,64] k=bf16[512,64] v=bf16[512,64] causal=true window=99 withLse=true",
        "q=f16[512,128] k=f16[512,128] v=f16[512,128]",
        "q=bf16[512,128] k=bf16[512,128] v=bf16[512,128] causal=true window=99 withLse=true",
        "q=f16[512,96] k=f16[512,96] v=f16[512,96] causal=true",
        "q=f16[512,192] k=f16[512,192] v=f16[512,192] causal=true window=99 withLse=true",
        "q=bf16[512,256] k=bf16[512,256] v=bf16[512,256] causal=true window=99 withLse=true",
        "q=f16[512,64] k=f16[512,64] v=f16[512,64] softcap=5 causal=true window=99 withLse=true",
        "q=f16[512,96] k=f16[512,96] v=f16[512,96] softcap=5 window=99",
        "q=bf16[512,128] k=bf16[512,128] v=bf16[512,128] softcap=5 causal=true window=99 withLse=true",
        "q=bf16[512,192] k=bf16[512,192] v=bf16[512,192] softcap=5 causal=true window=99 withLse=true",
        "q=f16[512,256] k=f16[512,256] v=f16[512,256] softcap=5 causal=true window=99 withLse=true",
        "q=f16[512,64] k=f16[512,64] v=f16[512,64] mask=bool[512,512] causal=true window=99 withLse=true",
        "q=bf16[512,96] k=bf16[511,96] v=bf16[511,96] mask=f32[512,511] softcap=5",
        "q=f16[512,128] k=f16[511,128] v=f16[511,128] mask=f16[512,511] softcap=5 causal=true window=99 withLse=true",
        "q=bf16[512,192] k=bf16[512,192] v=bf16[512,192] mask=f32[512,512] softcap=5 causal=true window=99 withLse=true",
        "q=f16[512,256] k=f16[512,256] v=f16[512,256] mask=f16[512,512] causal=true window=99 withLse=true",
        "q=bf16[512,256] k=bf16[511,256] v=bf16[511,256] mask=bool[512,511]"
      })
  void assemblesWithoutAdvisories(String text) {
    var assembler = Programs.require(Ptxas.find(), "ptxas", "install a CUDA toolkit");
    for (var plan : plans(problem(text))) {
      var step = ((LaunchPlan) plan).steps().getFirst();
      var variant = (WarpgroupVariant) step.variant();
      var machine = MachineCode.of(assembler, Module.of(variant.build()).toString(), Target.SM_90A);
      assertThat(machine.warnings()).as(plan.kernel()).isEmpty();
      var code = machine.of(plan.kernel());
      assertThat(code.usage().spillStoreBytes()).as(plan.kernel()).isZero();
      // the first tile of keys and the last of values are outside the loop
      assertThat(code.instructions().of(HGMMA))
          .as(plan.kernel())
          .isEqualTo(2 * (variant.d() + variant.tile().keys()) / 16);
    }
  }
}
