package dev.athanor.engine.emulator.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.ModuleVariables;
import dev.athanor.engine.emulator.memory.VariableExtents;
import dev.athanor.engine.emulator.program.Program;
import dev.athanor.engine.emulator.sanitizer.MemoryEffect;
import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.check.Inliner;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.table.TableWalk;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** All consumers of the table handle every instruction. */
class EverySpellingTest {

  private static final List<Instruction> ALL = TableWalk.spellings();

  private static Module module(List<Instruction> instructions) {
    return TableWalk.module(new Version(9, 0), Target.of("sm_90a"), instructions);
  }

  private static LoadedProgram program(Module module) {
    var inliner = new Inliner(module);
    var variables = new ModuleVariables(inliner.variables(), new GlobalMemory(1 << 20, false));
    return new LoadedProgram(new Program(inliner.kernel("walk"), variables));
  }

  @Test
  void everySpellingHasAMemoryEffect() {
    var kernel = program(module(List.of())).code().kernel();
    var variables = new VariableExtents(kernel, List.of(), 0);
    for (int i = 0; i < ALL.size(); i++) {
      assertThat(MemoryEffect.of(i, ALL.get(i), variables).number()).isEqualTo(i);
    }
  }

  @Test
  void everySpellingIsVerifiedAndLinted() {
    var module = module(ALL);
    assertThat(Verifier.faults(module)).isEmpty();
    assertThat(Verifier.warnings(module)).isNotNull();
  }

  /** Tests one spelling per row; the others are bound and compiled alike. */
  @Test
  void everyRowIsVerifiedBoundAndCompiled() {
    var known = new HashSet<InstructionForm>();
    var module = module(ALL.stream().filter(i -> known.add(i.form())).toList());
    var program = program(module);
    var trial = program.trial();
    assertThat(program.compiled(trial.block(), trial.async(), true).bind(trial.block()))
        .isNotNull();
  }
}
