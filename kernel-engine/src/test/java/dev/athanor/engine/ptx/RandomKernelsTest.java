package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.JCudaAssembler;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * What is made at random from the table prints, reads back, verifies and assembles. {@code
 * -Drandom.kernels=10000} makes more of them, {@code -Drandom.seed=…} others.
 */
class RandomKernelsTest {

  private static final int KERNELS = Integer.getInteger("random.kernels", 200);
  private static final long SEED = Long.getLong("random.seed", 1);

  @Test
  void printParseVerifyAndAssemble() {
    var assembler = JCudaAssembler.find().orElseThrow();
    Set<String> opcodes = new HashSet<>();
    for (long seed = SEED; seed < SEED + KERNELS; seed++) {
      var module = RandomKernels.module(seed);
      var text = module.toString();
      try {
        var again = Parser.parse(text, "random-" + seed + ".ptx");
        assertThat(again).hasToString(text);
        assertThat(again.kernels().getFirst().body()).isEqualTo(module.kernels().getFirst().body());
        Verifier.verify(again);
        assertThat(assembler.assemble(text, module.target()).cubin()).isNotEmpty();
      } catch (IllegalArgumentException
          | PtxSyntaxException
          | Assembler.AssemblyException
          | AssertionError e) {
        throw new AssertionError("random kernel " + seed + ":\n" + text, e);
      }
      module.kernels().getFirst().instructions().forEach(i -> opcodes.add(i.opcode()));
    }
    assertThat(opcodes).hasSizeGreaterThan(KERNELS);
  }

  @Test
  void aNumberMakesAlwaysTheSameKernel() {
    assertThat(RandomKernels.module(7)).isEqualTo(RandomKernels.module(7));
    assertThat(RandomKernels.module(7).toString()).isNotEqualTo(RandomKernels.module(8).toString());
  }
}
