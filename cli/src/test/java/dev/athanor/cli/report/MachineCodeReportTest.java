package dev.athanor.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.cli.report.MachineCodeReport.Launched;
import dev.athanor.engine.analysis.Assembly.Usage;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.InstructionCounts;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.Programs;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class MachineCodeReportTest {

  private static final Kernel KERNEL =
      Parser.parse(
              """
              .version 7.4
              .target sm_80
              .address_size 64
              .visible .entry nothing()
              {
                  ret;
              }
              """,
              "nothing.ptx")
          .kernels()
          .getFirst();

  private static MachineCodeReport report(
      List<InnermostLoop> loops, int indirectBranches, List<String> warnings) {
    return new MachineCodeReport(
        "product",
        "ptxas 13.0",
        "sm_80",
        new Usage(168, 16, 8, 12, 1024),
        256,
        65_536,
        Map.of("A100", 1),
        new InstructionCounts(Map.of(InstructionClass.HMMA, 8, InstructionClass.OTHER, 90)),
        loops,
        indirectBranches,
        warnings);
  }

  @Test
  void printsLoopsAndWarnings() {
    var product =
        new InstructionCounts(
            Map.of(
                InstructionClass.HMMA, 8,
                InstructionClass.LDSM, 6,
                InstructionClass.OTHER, 10));
    var copy = new InstructionCounts(Map.of(InstructionClass.LDG, 2, InstructionClass.BRA, 1));
    var loops =
        List.of(
            new InnermostLoop(0x80, 0x200, 1, product),
            new InnermostLoop(0x12340, 0x12370, 2, copy));
    assertThat(String.join("\n", report(loops, 1, List.of("ptxas info : (C7510) slow")).text()))
        .isEqualTo(
            """
            product: sm_80, ptxas 13.0, 98 instructions

            resource                         amount
            registers per thread                168
            spilled bytes, stored                 8
            spilled bytes, loaded                12
            stack bytes                          16
            shared bytes, static               1024
            shared bytes, dynamic             65536
            threads per block                   256
            blocks per multiprocessor, A100       1

            innermost loop 0x0080 to 0x0200, basic blocks: 1, matrix instructions: 8
            instruction  count  per matrix instruction
            HMMA             8                    1.00
            LDSM             6                    0.75
            other           10                    1.25
            all             24                    3.00

            innermost loop 0x12340 to 0x12370, basic blocks: 2, matrix instructions: 0
            instruction  count  per matrix instruction
            LDG              2
            BRA              1
            all              3

            1 indirect branches: loops reached only through them are not listed

            ptxas info : (C7510) slow\
            """);
  }

  @Test
  void reportsCodeWithoutLoops() {
    assertThat(report(List.of(), 0, List.of()).text()).last().isEqualTo("no loops");
  }

  @Test
  void explainsAMissingAssembler() {
    assertThatIllegalArgumentException()
        .isThrownBy(() ->
            MachineCodeReport.of(
                Optional.empty(), KERNEL, Target.SM_80, List.of(Gpu.A100), new Launched(32, 0)))
        .withMessage(
            "--sass: no assembler found; put ptxas of a CUDA toolkit on the PATH, or use Linux"
                + " on x86-64, for which Athanor includes NVIDIA's PTX compiler library");
  }

  @Test
  void explainsAnOutdatedAssembler() {
    var library =
        Programs.require(
            JCudaAssembler.find(), "PTX compiler library", "JCuda has it for Linux on x86-64");
    assertThatIllegalArgumentException()
        .isThrownBy(() ->
            MachineCodeReport.of(
                Optional.of(library),
                KERNEL,
                Gpu.RTX_5090.target(),
                List.of(Gpu.RTX_5090),
                new Launched(32, 0)))
        .withMessageStartingWith("--sass: nvPTXCompiler 12.0 refuses the module for sm_120:")
        .withMessageEndingWith(
            "If it does not support sm_120, put ptxas of a newer CUDA toolkit on the PATH.");
  }
}
