package dev.athanor.engine.emulator.program;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Where a program goes, and which registers hold values that are still needed. */
public final class ProgramFlow {

  private final List<Instruction> code;
  private final Map<String, Integer> labels;
  private final List<Register> registers;
  private final Map<Register, Integer> numbers = new HashMap<>();
  private final BitSet[] before;

  ProgramFlow(List<Instruction> code, Map<String, Integer> labels) {
    this.code = code;
    this.labels = labels;
    var all = new LinkedHashSet<Register>();
    for (var instruction : code) {
      all.addAll(reads(instruction));
      all.addAll(writes(instruction));
    }
    this.registers = List.copyOf(all);
    registers.forEach(r -> numbers.put(r, numbers.size()));
    this.before = new BitSet[code.size()];
    solve();
  }

  /** The registers that an instruction reads, the guard's and those it does not name among them. */
  public static Set<Register> reads(Instruction instruction) {
    var all = new LinkedHashSet<>(instruction.reads());
    all.addAll(instruction.form().implied(false));
    return all;
  }

  /** The registers that an instruction writes, those it does not name among them. */
  public static Set<Register> writes(Instruction instruction) {
    var all = new LinkedHashSet<>(instruction.writes());
    all.addAll(instruction.form().implied(true));
    return all;
  }

  public List<Instruction> code() {
    return code;
  }

  /** Where a branch goes. */
  public int target(Instruction branch) {
    var target = labels.get(branch.operands().getFirst().toString());
    if (target == null) {
      throw new IllegalArgumentException("there is no label for " + branch);
    }
    return target;
  }

  /** Whether a register's value is needed where an instruction begins. */
  public boolean isLive(Register register, int pc) {
    return before[pc].get(numbers.getOrDefault(register, registers.size()));
  }

  private List<Integer> successors(int pc) {
    var instruction = code.get(pc);
    var all = new ArrayList<Integer>();
    boolean always = instruction.guard() == null;
    if (instruction.form().semantics() instanceof Semantics.Branch) {
      all.add(target(instruction));
    }
    boolean leaves =
        instruction.form().semantics() instanceof Semantics.Branch
            || instruction.form().semantics() instanceof Semantics.Exit;
    if (pc + 1 < code.size() && !(leaves && always)) {
      all.add(pc + 1);
    }
    return all;
  }

  private void solve() {
    for (int pc = 0; pc < before.length; pc++) {
      before[pc] = new BitSet();
    }
    // products take their factors from registers, and leave their sums there, up to the wait
    var products =
        code.stream()
            .filter(i -> i.form().semantics() instanceof Semantics.Wgmma)
            .flatMap(i -> Stream.concat(i.reads().stream(), i.writes().stream()))
            .collect(Collectors.toSet());
    var reads =
        code.stream()
            .map(i ->
                bits(i.form().semantics() instanceof Semantics.WgmmaWait ? products : reads(i)))
            .toList();
    // what is written only in some lanes keeps its value in the others
    var kills = code.stream().map(i -> i.guard() == null ? bits(writes(i)) : new BitSet()).toList();
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int pc = before.length - 1; pc >= 0; pc--) {
        var live = new BitSet();
        for (int successor : successors(pc)) {
          live.or(before[successor]);
        }
        live.andNot(kills.get(pc));
        live.or(reads.get(pc));
        if (!live.equals(before[pc])) {
          before[pc] = live;
          changed = true;
        }
      }
    }
  }

  private BitSet bits(Set<Register> some) {
    var bits = new BitSet();
    some.forEach(r -> bits.set(numbers.getOrDefault(r, registers.size())));
    return bits;
  }
}
