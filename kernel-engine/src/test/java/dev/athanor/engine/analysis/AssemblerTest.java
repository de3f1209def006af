package dev.athanor.engine.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.engine.analysis.Assembler.AssemblyException;
import dev.athanor.engine.ptx.Target;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AssemblerTest {

  private static final Target SM_90A = Target.of("sm_90a");

  /** Computes y[i] = a * x[i] by way of shared memory. */
  private static final String SCALE =
      """
      .version 7.4
      .target sm_80
      .address_size 64

      .visible .entry scale(
          .param .u64 x,
          .param .f32 a
      )
      {
          .shared .align 16 .b8 tile[1024];
          .reg .b32 %r<4>;
          .reg .f32 %f<4>;
          .reg .b64 %rd<6>;
          mov.u32 %r0, %tid.x;
          ld.param.u64 %rd0, [x];
          ld.param.f32 %f0, [a];
          mul.wide.u32 %rd1, %r0, 4;
          add.s64 %rd2, %rd0, %rd1;
          ld.global.f32 %f1, [%rd2];
          mov.u32 %r1, tile;
          shl.b32 %r2, %r0, 2;
          add.s32 %r3, %r1, %r2;
          st.shared.f32 [%r3], %f1;
          bar.sync 0;
          ld.shared.f32 %f2, [%r3];
          mul.f32 %f3, %f2, %f0;
          st.global.f32 [%rd2], %f3;
          ret;
      }
      """;

  private static Assembler assembler(String name) {
    return name.equals("ptxas") ? Assemblers.ptxas() : Assemblers.library();
  }

  @ParameterizedTest
  @ValueSource(strings = {"nvPTXCompiler", "ptxas"})
  void reportsResourceUsage(String name) {
    for (var target : List.of(Target.SM_80, SM_90A)) {
      var assembly = assembler(name).assemble(SCALE, target);

      assertThat(assembly.kernels()).containsOnlyKeys("scale");
      var scale = assembly.of("scale");
      assertThat(scale.registers()).isBetween(4, 32);
      assertThat(scale.stackBytes()).isZero();
      assertThat(scale.spillStoreBytes()).isZero();
      assertThat(scale.spillLoadBytes()).isZero();
      assertThat(scale.staticSharedBytes()).isEqualTo(1024);
      assertThat(assembly.warnings()).isEmpty();
      assertThat(new String(assembly.cubin(), 1, 3, StandardCharsets.US_ASCII)).isEqualTo("ELF");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nvPTXCompiler", "ptxas"})
  void reportsTheLineOfAnError(String name) {
    var wrong = SCALE.replace("mul.f32 %f3, %f2, %f0;", "mul.f32 %f3, %f2;");
    int line = SCALE.substring(0, SCALE.indexOf("mul.f32")).split("\n", -1).length;
    var assembler = assembler(name);

    assertThatExceptionOfType(AssemblyException.class)
        .isThrownBy(() -> assembler.assemble(wrong, Target.SM_80))
        .withMessageContaining("refuses the module for sm_80")
        .satisfies(e -> assertThat(e.log()).contains("line " + line).contains("mul"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"nvPTXCompiler", "ptxas"})
  void rejectsOldTargets(String name) {
    var newer = SCALE.replace("sm_80", "sm_90a").replace("7.4", "8.0");
    var assembler = assembler(name);

    assertThatExceptionOfType(AssemblyException.class)
        .isThrownBy(() -> assembler.assemble(newer, Target.SM_80));
  }

  @ParameterizedTest
  @ValueSource(strings = {"nvPTXCompiler", "ptxas"})
  void worksOnSeveralThreads(String name) {
    var assembler = assembler(name);
    var alone = assembler.assemble(SCALE, Target.SM_80);

    var together =
        IntStream.range(0, 16)
            .parallel()
            .mapToObj(_ -> assembler.assemble(SCALE, Target.SM_80))
            .toList();

    assertThat(together)
        .allSatisfy(each -> {
          assertThat(each.kernels()).isEqualTo(alone.kernels());
          assertThat(each.cubin()).hasSameSizeAs(alone.cubin());
        });
  }

  @Test
  void survivesCrashesOfTheLibrary() {
    var assembler = assembler("nvPTXCompiler");
    for (int i = 0; i < 2; i++) {
      assertThatExceptionOfType(AssemblyException.class)
          .isThrownBy(() -> assembler.assemble("no PTX", Target.SM_80))
          .withMessage(
              "nvPTXCompiler 12.0 crashed on the module for sm_80: SIGSEGV. The module is not valid:"
                  + " module.ptx:1:1: expected .version, got \"no\". Athanor includes this assembler, of"
                  + " CUDA 12.0. If ptxas of a CUDA toolkit is on the PATH, it is used instead.")
          .satisfies(e -> assertThat(e.log()).isEmpty());
      assertThat(assembler.assemble(SCALE, Target.SM_80).kernels()).containsKey("scale");
    }
  }

  @Test
  void emptyPathHasNoPtxas() {
    assertThat(Ptxas.find("")).isEmpty();
    assertThat(Ptxas.find("/nowhere")).isEmpty();
  }

  @Test
  void readsSpillsAndRemarks() {
    var assembly =
        Assembly.read(
            """
            ptxas info    : 0 bytes gmem
            ptxas info    : Compiling entry function 'big' for 'sm_90a'
            ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are \
            serialized due to wgmma pipeline crossing function boundary in the function 'big'
            ptxas info    : Function properties for big
                48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
            ptxas info    : Used 255 registers, used 1 barriers, 8192 bytes smem, 400 bytes cmem[0]
            ptxas info    : Compiling entry function 'small' for 'sm_90a'
            ptxas info    : Function properties for small
                0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
            ptxas info    : Used 8 registers
            """,
            new byte[0]);

    assertThat(assembly.kernels())
        .isEqualTo(
            Map.of(
                "big", new Assembly.Usage(255, 48, 40, 44, 8192),
                "small", new Assembly.Usage(8, 0, 0, 0, 0)));
    assertThat(assembly.warnings()).singleElement().asString().contains("C7510");
  }
}
