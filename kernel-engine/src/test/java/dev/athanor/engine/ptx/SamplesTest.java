package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Ptxas;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The parser reads what nvcc prints. */
class SamplesTest {

  /** Samples with instructions that the table lacks, and the first of them. */
  private static final Map<String, String> MISSING =
      Map.ofEntries(
          Map.entry("hopper/forms_sm_75.ptx", "ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16"),
          Map.entry(
              "hopper/forms_sm_80.ptx",
              "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64"),
          Map.entry(
              "hopper/forms_sm_89.ptx", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
          Map.entry("hopper/forms_sm_90.ptx", "stmatrix.sync.aligned.m8n8.x1.shared.b16"),
          Map.entry(
              "hopper/gemm_ws_128x256x64_c2.ptx", "stmatrix.sync.aligned.m8n8.x4.shared::cta.b16"),
          Map.entry(
              "hopper/wgmma_forms_sm_90a.ptx",
              "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and.popc"),
          Map.entry("k06_wmma.sm_80.ptx", "wmma.load.a.sync.aligned.row.m16n16k16.global.f16"),
          Map.entry("k06_wmma.sm_90a.ptx", "wmma.load.a.sync.aligned.row.m16n16k16.global.f16"),
          Map.entry("k09_quant.sm_80.ptx", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
          Map.entry("k09_quant.sm_90a.ptx", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"));

  static List<String> names() {
    return Samples.names();
  }

  @ParameterizedTest
  @MethodSource("names")
  void printingIsAFixedPoint(String name) {
    var text = Samples.text(name);
    var printed = Parser.parse(text, name, Samples::anyInstruction).toString();
    assertThat(Parser.parse(printed, name, Samples::anyInstruction)).hasToString(printed);
  }

  @ParameterizedTest
  @MethodSource("names")
  void verifiesAndAssemblesOrNamesTheMissingInstruction(String name) {
    var text = Samples.text(name);
    var missing = MISSING.get(name);
    if (missing != null) {
      var refused = catchThrowableOfType(PtxSyntaxException.class, () -> Parser.parse(text, name));
      assertThat(refused).as(name + " can leave the list").isNotNull();
      var at = refused.source();
      assertThat(text.lines().toList().get(at.line() - 1).substring(at.column() - 1))
          .startsWith(missing);
      return;
    }
    var module = Parser.parse(text, name);
    assertThat(Verifier.faults(module)).isEmpty();
    assertThat(Verifier.warnings(module)).isEmpty();
    // the assembler that is always here is that of CUDA 12.0, older than the files' version 9.0
    var version = new Version(8, 0);
    boolean young =
        module.kernels().stream()
            .flatMap(Kernel::instructions)
            .anyMatch(i -> i.since().version().compareTo(version) > 0);
    var assembler = young ? Ptxas.find() : JCudaAssembler.find();
    assumeTrue(assembler.isPresent(), "no assembler here is young enough for " + name);
    var printed =
        young
            ? module
            : new Module(
                version, module.target(), module.variables(), module.functions(), module.kernels());
    assertThat(assembler.get().assemble(printed.toString(), module.target()).cubin()).isNotEmpty();
  }
}
