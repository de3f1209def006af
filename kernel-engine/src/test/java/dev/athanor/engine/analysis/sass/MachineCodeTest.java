package dev.athanor.engine.analysis.sass;

import static dev.athanor.engine.analysis.sass.InstructionClass.BAR;
import static dev.athanor.engine.analysis.sass.InstructionClass.BRA;
import static dev.athanor.engine.analysis.sass.InstructionClass.DMMA;
import static dev.athanor.engine.analysis.sass.InstructionClass.HGMMA;
import static dev.athanor.engine.analysis.sass.InstructionClass.HMMA;
import static dev.athanor.engine.analysis.sass.InstructionClass.IMMA;
import static dev.athanor.engine.analysis.sass.InstructionClass.LDG;
import static dev.athanor.engine.analysis.sass.InstructionClass.LDGSTS;
import static dev.athanor.engine.analysis.sass.InstructionClass.LDL;
import static dev.athanor.engine.analysis.sass.InstructionClass.LDSM;
import static dev.athanor.engine.analysis.sass.InstructionClass.QMMA;
import static dev.athanor.engine.analysis.sass.InstructionClass.STG;
import static dev.athanor.engine.analysis.sass.InstructionClass.STL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.analysis.Assembler.AssemblyException;
import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.Occupancy.Limit;
import dev.athanor.engine.ptx.Target;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MachineCodeTest {

  private static KernelCode kernel(String ptx, String target) {
    var code = MachineCode.of(Assemblers.any(), ptx, Target.of(target));
    assertThat(code.assembler()).matches("(ptxas|nvPTXCompiler) \\d+\\.\\d+");
    assertThat(code.target()).isEqualTo(Target.of(target));
    return code.kernels().getFirst();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sm_80", "sm_86", "sm_89", "sm_90"})
  void countsTheInstructionsOfALoop(String target) {
    var product = kernel(SassKernels.product(), target);

    assertThat(product.name()).isEqualTo("product");
    assertThat(product.usage().staticSharedBytes()).isEqualTo(8192);
    assertThat(product.usage().spillStoreBytes()).isZero();
    assertThat(product.indirectBranches()).isZero();
    assertThat(product.loops()).hasSize(1);
    var loop = product.loops().getFirst();
    assertThat(loop.start()).isPositive().isLessThan(loop.end());
    assertThat(loop.blocks()).isEqualTo(1);
    var counts = loop.instructions();
    assertThat(counts.of(LDGSTS)).isEqualTo(4);
    assertThat(counts.of(LDSM)).isEqualTo(1);
    assertThat(counts.of(HMMA)).isEqualTo(2);
    assertThat(counts.of(BAR)).isEqualTo(2);
    assertThat(counts.of(BRA)).isEqualTo(1);
    assertThat(counts.total()).isEqualTo((loop.end() - loop.start()) / 16);
    assertThat(counts.matrix()).isEqualTo(2);
    assertThat(counts.perMatrix(LDGSTS)).isEqualTo(2.0, within(0.0));
    assertThat(counts.perMatrix()).isEqualTo(counts.total() / 2.0, within(0.0));
    assertThat(product.instructions().of(STG)).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sm_80", "sm_89", "sm_90"})
  void findsOnlyInnermostLoops(String target) {
    var nested = kernel(SassKernels.nested(), target);

    assertThat(nested.loops()).hasSize(1);
    var inner = nested.loops().getFirst();
    assertThat(inner.blocks()).isGreaterThan(1);
    assertThat(inner.instructions().of(LDG)).isEqualTo(1);
    assertThat(inner.instructions().of(STG)).isEqualTo(20);
    // the barrier of the inner loop; that of the outer loop is not in it
    assertThat(inner.instructions().of(BAR)).isEqualTo(1);
    assertThat(nested.instructions().of(BAR)).isEqualTo(2);
    assertThat(inner.instructions().perMatrix(LDG)).isInfinite();
    assertThat(inner.instructions().perMatrix(LDL)).isNaN();
  }

  @Test
  void waitingForAnMbarrierIsNoLoop() {
    var loops = kernel(SassKernels.waiting(), "sm_90").loops();
    assertThat(loops).hasSize(1);
    assertThat(loops.getFirst().instructions().of(STG)).isEqualTo(1);
  }

  @Test
  void theTrapBehindTheCodeIsNoLoop() {
    var straight = kernel(SassKernels.straight(), "sm_80");
    assertThat(straight.loops()).isEmpty();
    assertThat(straight.instructions().of(BRA)).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sm_80", "sm_89", "sm_90"})
  void reportsSpills(String target) {
    var spilling = kernel(SassKernels.spilling(), target);

    assertThat(spilling.usage().registers()).isLessThanOrEqualTo(32);
    assertThat(spilling.usage().spillStoreBytes()).isPositive();
    assertThat(spilling.usage().spillLoadBytes()).isPositive();
    assertThat(spilling.instructions().of(STL)).isPositive();
    assertThat(spilling.instructions().of(LDL)).isPositive();
  }

  @Test
  void computesOccupancy() {
    var product = kernel(SassKernels.product(), "sm_80");

    // 8 KiB static, 72 KiB dynamic and 1 KiB reserved, of 164 KiB
    assertThat(product.occupancy(Gpu.A100, 128, 72 << 10).blocks()).isEqualTo(2);
    assertThat(product.occupancy(Gpu.A100, 128, 72 << 10).limit()).isEqualTo(Limit.SHARED_MEMORY);
  }

  @Test
  void knowsTheMatrixInstructionsOfBlackwell() {
    var ptx =
        """
        .version 8.7
        .target sm_120a
        .address_size 64
        .visible .entry all(.param .u64 p) {
        .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %rd<2>; .reg .f64 %d<4>;
        ld.param.u64 %rd0, [p];
        ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%rd0];
        ld.global.f64 %d0, [%rd0+32];
        mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
        mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f0,%f1,%f2,%f3},
            {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%f0,%f1,%f2,%f3};
        mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r4,%r5,%r6,%r7},
            {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r0,%r1,%r2,%r3};
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d2,%d3}, {%d0}, {%d0}, {%d0,%d0};
        st.global.v4.f32 [%rd0], {%f0,%f1,%f2,%f3};
        st.global.v4.u32 [%rd0+16], {%r4,%r5,%r6,%r7};
        st.global.f64 [%rd0+40], %d2;
        ret;
        }
        """;
    var code = MachineCode.of(Assemblers.ptxas(), ptx, Target.of("sm_120a")).of("all");
    assertThat(code.instructions().of(QMMA)).isEqualTo(1);
    assertThat(code.instructions().of(IMMA)).isEqualTo(1);
    assertThat(code.instructions().of(DMMA)).isEqualTo(1);
  }

  @Test
  void keepsWhatTheAssemblerSaysOfWgmma() {
    var ptx =
        """
        .version 8.0
        .target sm_90a
        .address_size 64
        .visible .entry unwaited(.param .u64 p, .param .u64 d) {
        .reg .f32 %f<4>; .reg .b64 %rd<3>; .reg .pred %p<2>;
        ld.param.u64 %rd0, [p];
        ld.param.u64 %rd1, [d];
        ld.global.v4.f32 {%f0,%f1,%f2,%f3}, [%rd0];
        wgmma.fence.sync.aligned;
        setp.ne.u32 %p0, 1, 0;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd1, %p0, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned;
        st.global.v4.f32 [%rd0], {%f0,%f1,%f2,%f3};
        ret;
        }
        """;
    var code = MachineCode.of(Assemblers.any(), ptx, Target.of("sm_90a"));
    assertThat(code.of("unwaited").instructions().of(HGMMA)).isPositive();
    assertThat(code.warnings())
        .singleElement()
        .asString()
        .containsPattern("\\(C75\\d+\\) .*'unwaited'");
  }

  @Test
  void reportsWhatTheAssemblerRefuses() {
    var wrong = SassKernels.straight().replace("mul.wide.u32 %rd1, %r1, 16;", "mul.wide.u32 %rd1;");
    var assembler = Assemblers.any();
    assertThatExceptionOfType(AssemblyException.class)
        .isThrownBy(() -> MachineCode.of(assembler, wrong, Target.SM_80))
        .withMessageContaining("refuses the module for sm_80");
  }

  @Test
  void namesTheKernelsOfTheModule() {
    var code = MachineCode.of(Assemblers.any(), SassKernels.straight(), Target.SM_80);
    assertThat(code.of("straight").name()).isEqualTo("straight");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> code.of("bent"))
        .withMessage("the module has no kernel bent; it has straight");
  }
}
