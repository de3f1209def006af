package dev.athanor.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.analysis.Assembly.Usage;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.InstructionCounts;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.text.Parser;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Issue slots computed by hand. */
class IssueSlotsTest {

  private static final String F16 =
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
          + " {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};";
  private static final String FP8 =
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
          + " {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};";

  /** A profile of one block, whose instructions have run so often. */
  private static Profile profile(Map<String, Long> executed) {
    var rows = new ArrayList<Row>();
    executed.forEach((text, times) ->
        rows.add(
            new Row(
                instruction(text),
                times,
                32 * times,
                0,
                new Profile.Shared(0, 0, 0, 0, 0, 0),
                new Profile.Global(0, 0, 0, 0, 0, 0),
                0)));
    return new Profile("k", Dim3.of(1), Dim3.of(32), 0, 1, rows, Collections.nCopies(33, 0L), 0);
  }

  private static Instruction instruction(String text) {
    var module =
        """
        .version 8.4
        .target sm_90
        .address_size 64
        .visible .entry k()
        {
        .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<8>;
        """
            + text
            + "\n}\n";
    return Parser.parse(module, "k.ptx").kernels().stream()
        .flatMap(Kernel::instructions)
        .findFirst()
        .orElseThrow();
  }

  private static KernelCode code(
      int all, Map<InstructionClass, Integer> loop, int blocksOfTheLoop) {
    return new KernelCode(
        "k",
        new Usage(32, 0, 0, 0, 0),
        new InstructionCounts(Map.of(InstructionClass.OTHER, all)),
        loop.isEmpty()
            ? List.of()
            : List.of(new InnermostLoop(0, 160, blocksOfTheLoop, new InstructionCounts(loop))),
        0);
  }

  private static double slots(Profile profile, IssueSlots slots) {
    return slots.perPtx() * profile.sum(Row::issues);
  }

  @Test
  void eachPtxInstructionCountsWithoutAnAssembler() {
    var profile = profile(Map.of(F16, 100L, "add.f32 %f0, %f1, %f2;", 10L));
    var slots = IssueSlots.of(profile, Gpu.H200, null);
    assertThat(slots(profile, slots)).isEqualTo(110);
    assertThat(slots.estimate()).isTrue();
  }

  /** The assembler has unrolled twice: two products, with three other instructions for each. */
  @Test
  void aLoopOfMatrixProductsIsCountedExactly() {
    var profile =
        profile(Map.of(F16, 100L, "add.u32 %r0, %r1, 1;", 100L, "st.global.u32 [%rd0], %r0;", 1L));
    var loop = Map.of(InstructionClass.HMMA, 2, InstructionClass.IMAD, 6);
    var slots = IssueSlots.of(profile, Gpu.H200, code(50, loop, 1));
    assertThat(slots(profile, slots)).isCloseTo(400, within(1e-9));
    assertThat(slots.estimate()).isFalse();
    assertThat(IssueSlots.of(profile, Gpu.H200, code(50, loop, 2)).estimate()).isTrue();
  }

  /** Two f16 products and six conversions in the place of one product of fp8. */
  @Test
  void productsOfFp8TakeTwoInstructionsOnHopper() {
    var profile = profile(Map.of(FP8, 100L));
    var loop = Map.of(InstructionClass.HMMA, 2, InstructionClass.F2FP, 6);
    assertThat(slots(profile, IssueSlots.of(profile, Gpu.H200, code(50, loop, 1))))
        .isCloseTo(800, within(1e-9));
    var own = Map.of(InstructionClass.QMMA, 2, InstructionClass.IMAD, 6);
    assertThat(slots(profile, IssueSlots.of(profile, Gpu.RTX_4090, code(50, own, 1))))
        .isCloseTo(400, within(1e-9));
  }

  /** 5 machine instructions for each multiply-add; the 10 for 2 of PTX around it are slow paths. */
  @Test
  void otherLoopsAreEstimatedWithWhatIsAroundThem() {
    var profile =
        profile(
            Map.of(
                "fma.rn.f32 %f0, %f1, %f2, %f3;", 100L,
                "add.u32 %r0, %r1, 1;", 100L,
                "add.u32 %r0, %r1, 2;", 1L,
                "st.global.u32 [%rd0], %r0;", 1L));
    var loop = Map.of(InstructionClass.FFMA, 4, InstructionClass.IMAD, 16);
    var slots = IssueSlots.of(profile, Gpu.H200, code(30, loop, 1));
    assertThat(slots(profile, slots)).isCloseTo(502, within(1e-9));
    assertThat(slots.estimate()).isTrue();
  }

  @Test
  void codeWithoutLoopsHasTheAverageOfTheKernel() {
    var profile = profile(Map.of("add.f32 %f0, %f1, %f2;", 7L, "mul.f32 %f0, %f1, %f2;", 7L));
    var slots = IssueSlots.of(profile, Gpu.H200, code(6, Map.of(), 1));
    assertThat(slots(profile, slots)).isEqualTo(3 * 14);
    assertThat(slots.estimate()).isTrue();
  }

  /** The loop with the product of a remainder is not the main loop, which is not innermost. */
  @Test
  void aLoopWithLessProductsThanThatOfPtxIsAnother() {
    var second = F16.replace("%r4", "%r6");
    var profile = profile(Map.of(F16, 100L, second, 100L));
    var loop = Map.of(InstructionClass.HMMA, 1, InstructionClass.IMAD, 40);
    var slots = IssueSlots.of(profile, Gpu.H200, code(44, loop, 1));
    assertThat(slots.perPtx()).isEqualTo(22);
    assertThat(slots.estimate()).isTrue();
  }

  /** As in a softmax of long rows, which reads them once for the maximum and once for the sum. */
  @Test
  void loopsThatRunEquallyOftenCountTogether() {
    var profile =
        profile(
            Map.of("fma.rn.f32 %f0, %f1, %f2, %f3;", 100L, "fma.rn.f32 %f3, %f1, %f2, %f0;", 100L));
    var first = Map.of(InstructionClass.FFMA, 1, InstructionClass.IMAD, 4);
    var second = Map.of(InstructionClass.FFMA, 1, InstructionClass.IMAD, 9);
    var code =
        new KernelCode(
            "k",
            new Usage(32, 0, 0, 0, 0),
            new InstructionCounts(Map.of(InstructionClass.OTHER, 90)),
            List.of(
                new InnermostLoop(0, 80, 1, new InstructionCounts(first)),
                new InnermostLoop(80, 240, 1, new InstructionCounts(second))),
            0);
    assertThat(slots(profile, IssueSlots.of(profile, Gpu.H200, code))).isEqualTo(1500);
  }
}
