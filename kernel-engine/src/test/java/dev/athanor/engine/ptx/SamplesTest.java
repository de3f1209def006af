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
          Map.entry("hopper/fa_inner_hd128_bn128.ptx", "setmaxnreg.dec.sync.aligned.u32"),
          Map.entry("hopper/forms_sm_75.ptx", "fence.proxy.alias"),
          Map.entry("hopper/forms_sm_80.ptx", "mbarrier.init.shared::cta.b64"),
          Map.entry("hopper/forms_sm_90.ptx", "mbarrier.arrive.shared::cta.b64"),
          Map.entry("hopper/forms_sm_90a.ptx", "setmaxnreg.inc.sync.aligned.u32"),
          Map.entry("hopper/fp8_promote_n128.ptx", "setmaxnreg.dec.sync.aligned.u32"),
          Map.entry("hopper/gemm_ws_128x256x64_c2.ptx", "mbarrier.init.shared::cta.b64"),
          Map.entry("hopper/s8_n128.ptx", "setmaxnreg.dec.sync.aligned.u32"),
          Map.entry("hopper/w4a16_rs_n64.ptx", "setmaxnreg.dec.sync.aligned.u32"),
          Map.entry("hopper/wgmma_forms_sm_90a.ptx", "wgmma.fence.sync.aligned"),
          Map.entry("k10_hopper.sm_90a.ptx", "mbarrier.init.shared::cta.b64"),
          Map.entry("k11_barriers.sm_80.ptx", "mbarrier.init.shared.b64"),
          Map.entry("k11_barriers.sm_90a.ptx", "mbarrier.init.shared.b64"));

  /** A sample that only lists spellings, with registers that nothing writes. */
  private static final Map<String, String> UNWRITTEN =
      Map.of("hopper/forms_sm_89.ptx", "reads %r4, which is not written on every way here");

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
    var unknown = UNWRITTEN.get(name);
    if (unknown != null) {
      assertThat(Verifier.faults(module)).isNotEmpty();
      assertThat(Verifier.faults(module).getFirst()).asString().contains(unknown);
      return;
    }
    assertThat(Verifier.faults(module)).isEmpty();
    assertThat(Verifier.warnings(module)).isEmpty();
    // the assembler that is always here is that of CUDA 12.0, older than the files' version 9.0
    var older =
        new Module(
            new Version(8, 0),
            module.target(),
            module.variables(),
            module.functions(),
            module.kernels());
    if (Verifier.faults(older).isEmpty()) {
      var assembler = JCudaAssembler.find().orElseThrow();
      assertThat(assembler.assemble(older.toString(), older.target()).cubin()).isNotEmpty();
      return;
    }
    var newer = Ptxas.find();
    if (newer.isEmpty()) {
      System.err.println("SKIPPED: ptxas is not here, so it did not assemble " + name);
    }
    assumeTrue(newer.isPresent());
    assertThat(newer.get().assemble(text, module.target()).cubin()).isNotEmpty();
  }
}
