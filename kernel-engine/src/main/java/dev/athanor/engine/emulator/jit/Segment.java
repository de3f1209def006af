package dev.athanor.engine.emulator.jit;

import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.BitSet;
import java.util.List;

/** The instructions {@code from} to {@code to - 1} of a program, which become one JVM method. */
record Segment(int from, int to) {

  /** The name of the method. */
  String method() {
    return "from" + from;
  }

  int length() {
    return to - from;
  }

  boolean contains(int pc) {
    return pc >= from && pc < to;
  }

  List<Instruction> instructions(ProgramFlow flow) {
    return flow.code().subList(from, to);
  }

  /** The instructions at which threads enter: the first, and the targets of branches outside. */
  List<Integer> entries(ProgramFlow flow) {
    var entries = new BitSet();
    entries.set(from);
    for (int pc = 0; pc < flow.code().size(); pc++) {
      var instruction = flow.code().get(pc);
      if (!contains(pc) && instruction.form().semantics() instanceof Semantics.Branch) {
        int target = flow.target(instruction);
        if (contains(target)) {
          entries.set(target);
        }
      }
    }
    return entries.stream().boxed().toList();
  }
}
