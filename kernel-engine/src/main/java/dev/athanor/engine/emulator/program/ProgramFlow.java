package dev.athanor.engine.emulator.program;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.flow.ControlFlow;
import dev.athanor.engine.ptx.flow.LiveRegisters;
import dev.athanor.engine.ptx.flow.RegisterIndex;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The branch targets and the live registers of a program. */
public final class ProgramFlow {

  private final List<Instruction> code;
  private final Map<String, Integer> labels;
  private final LiveRegisters live;

  /**
   * Analyzes a program.
   *
   * @param labels the position of the instruction after each label
   */
  ProgramFlow(List<Instruction> code, Map<String, Integer> labels) {
    this.code = code;
    this.labels = labels;
    var registers = new LinkedHashSet<Register>();
    for (var instruction : code) {
      registers.addAll(reads(instruction));
      registers.addAll(writes(instruction));
    }
    // asynchronous products use their registers until the wait
    var products =
        code.stream()
            .filter(i -> i.form().semantics() instanceof Semantics.Wgmma)
            .flatMap(i -> Stream.concat(i.reads().stream(), i.writes().stream()))
            .collect(Collectors.toSet());
    this.live =
        LiveRegisters.of(
            code,
            ControlFlow.of(code, labels),
            new RegisterIndex(registers),
            i -> i.form().semantics() instanceof Semantics.WgmmaWait ? products : reads(i),
            ProgramFlow::writes);
  }

  /** Returns the registers that an instruction reads, including its guard and implied registers. */
  public static Set<Register> reads(Instruction instruction) {
    var all = new LinkedHashSet<>(instruction.reads());
    all.addAll(instruction.form().impliedRegisters(false));
    return all;
  }

  /** Returns the registers that an instruction writes, including implied registers. */
  public static Set<Register> writes(Instruction instruction) {
    var all = new LinkedHashSet<>(instruction.writes());
    all.addAll(instruction.form().impliedRegisters(true));
    return all;
  }

  public List<Instruction> code() {
    return code;
  }

  /**
   * Returns the position to which a branch jumps.
   *
   * @throws IllegalArgumentException when the program does not contain its label
   */
  public int target(Instruction branch) {
    var target = labels.get(ControlFlow.target(branch));
    if (target == null) {
      throw new IllegalArgumentException("there is no label for " + branch);
    }
    return target;
  }

  /** Returns whether a register is live before an instruction. */
  public boolean isLive(Register register, int pc) {
    return live.isLive(register, pc);
  }
}
