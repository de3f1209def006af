package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import dev.athanor.testing.TestTier;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Random kernels print, parse, verify and assemble. */
class RandomKernelsTest {

  private static final int KERNELS = TestTier.choose(100, 200, 10_000);

  /** Assembling takes much longer than the rest. */
  private static final int ASSEMBLED = TestTier.choose(5, 50, 10_000);

  private static final long SEED = TestTier.seed();

  @Test
  void printParseAndVerify() {
    Set<String> opcodes = new HashSet<>();
    for (long seed = SEED; seed < SEED + KERNELS; seed++) {
      var module = RandomKernels.module(seed);
      var text = module.toString();
      try {
        var again = Parser.parse(text, "random-" + seed + ".ptx");
        assertThat(again).hasToString(text);
        assertThat(again.kernels().getFirst().body()).isEqualTo(module.kernels().getFirst().body());
        Verifier.verify(again);
      } catch (IllegalArgumentException | PtxSyntaxException | AssertionError e) {
        throw new AssertionError("random kernel " + seed + ":\n" + text, e);
      }
      module.kernels().getFirst().instructions().forEach(i -> opcodes.add(i.opcode()));
    }
    assertThat(opcodes).hasSizeGreaterThan(KERNELS);
  }

  @Test
  void seedsAreReproducible() {
    assertThat(RandomKernels.module(7)).isEqualTo(RandomKernels.module(7));
    assertThat(RandomKernels.module(7).toString()).isNotEqualTo(RandomKernels.module(8).toString());
  }

  /**
   * The compiler of CUDA 12.0 crashes on about one in ten of these kernels; a newer assembler, if
   * present, must accept them.
   */
  @Test
  void assemble() {
    var library = Assemblers.library();
    var newer = Ptxas.find();
    int crashes = 0;
    for (long seed = SEED; seed < SEED + ASSEMBLED; seed++) {
      var module = RandomKernels.module(seed);
      try {
        assertThat(library.assemble(module.toString(), module.target()).cubin()).isNotEmpty();
      } catch (Assembler.AssemblyException e) {
        assertThat(e).as("random kernel %d:%n%s", seed, module).hasMessageContaining(" crashed ");
        crashes++;
        newer.ifPresent(ptxas -> ptxas.assemble(module.toString(), module.target()));
      }
    }
    assertThat(crashes).isLessThan(5 + ASSEMBLED / 4);
  }
}
