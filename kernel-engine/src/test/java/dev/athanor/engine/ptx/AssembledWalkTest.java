package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Ptxas;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** NVIDIA's assemblers take every spelling of the table, on every target that has it. */
class AssembledWalkTest {

  static Stream<Arguments> modules() {
    var known =
        Stream.of("sm_80", "sm_89", "sm_90", "sm_90a")
            .map(target -> Arguments.of("JNvPTXCompiler", target, JCudaAssembler.find()));
    var all =
        Stream.of("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100")
            .map(target -> Arguments.of("ptxas", target, Ptxas.find()));
    return Stream.concat(known, all);
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("modules")
  void everySpellingAssembles(String name, String target, Optional<Assembler> assembler) {
    if (assembler.isEmpty()) {
      System.err.println(
          "SKIPPED: " + name + " is not here, so it did not assemble the table for " + target);
    }
    assumeTrue(assembler.isPresent());
    var version =
        name.equals("ptxas")
            ? new Version(9, 0)
            : target.equals("sm_80") ? Module.PORTABLE : new Version(8, 0);
    var module = TableWalk.module(version, Target.of(target));
    var assembly = assembler.get().assemble(module.toString(), Target.of(target));
    assertThat(assembly.cubin()).isNotEmpty();
  }

  @Test
  void atLeastOneAssemblerIsAlwaysHere() {
    assertThat(JCudaAssembler.find()).isPresent();
  }

  @Test
  void anAssemblerWouldRefuseWhatThePrinterGetsWrong() {
    var module = TableWalk.module(Module.PORTABLE, Target.SM_80).toString();
    var broken = module.replaceFirst("fma\\.rn\\.f32", "fma.f32");
    assertThat(broken).isNotEqualTo(module);
    for (var assembler : List.of(JCudaAssembler.find().orElseThrow())) {
      assertThatThrownBy(() -> assembler.assemble(broken, Target.SM_80))
          .isInstanceOf(Assembler.AssemblyException.class)
          .hasMessageContaining("fma");
    }
  }
}
