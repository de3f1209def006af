package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The parser accepts the output of nvcc. */
class SamplesTest {

  /** Samples with instructions that the table lacks, and the first of them. */
  private static final Map<String, String> MISSING =
      Map.ofEntries(
          Map.entry(
              "hopper/forms_sm_90.ptx", "cp.async.bulk.tensor.4d.shared::cluster.global.im2col"),
          Map.entry(
              "hopper/forms_sm_80.ptx",
              "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64"),
          Map.entry(
              "hopper/wgmma_forms_sm_90a.ptx",
              "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16"));

  /** Samples that only list spellings and read registers that nothing writes. */
  private static final Map<String, String> UNWRITTEN =
      Map.of(
          "hopper/forms_sm_75.ptx", "reads %r8, which is not written on any path to here",
          "hopper/forms_sm_89.ptx", "reads %r4, which is not written on any path to here");

  /** A sample that reads an unset predicate if it has no tile. */
  private static final Map<String, String> DOUBTFUL =
      Map.of(
          "hopper/gemm_ws_128x256x64_c2.ptx",
          "reads %p6, which is not written on all paths to here");

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
  @Tag(TestTier.THOROUGH_TAG)
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
      assertThat(Verifier.faults(module)).isEmpty();
      assertThat(Verifier.warnings(module).getFirst()).asString().contains(unknown);
      return;
    }
    assertThat(Verifier.faults(module)).isEmpty();
    var doubtful = DOUBTFUL.get(name);
    if (doubtful == null) {
      assertThat(Verifier.warnings(module)).isEmpty();
    } else {
      assertThat(Verifier.warnings(module)).singleElement().asString().contains(doubtful);
    }
    // the assembler that is always here is that of CUDA 12.0, older than the files' version 9.0
    var older =
        new Module(
            new Version(8, 0),
            module.target(),
            module.variables(),
            module.functions(),
            module.kernels());
    if (Verifier.faults(older).isEmpty()) {
      var assembler = Assemblers.library();
      assertThat(assembler.assemble(older.toString(), older.target()).cubin()).isNotEmpty();
      return;
    }
    var newer = Assemblers.ptxas();
    assertThat(newer.assemble(text, module.target()).cubin()).isNotEmpty();
  }
}
