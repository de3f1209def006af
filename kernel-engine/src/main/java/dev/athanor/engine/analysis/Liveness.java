package dev.athanor.engine.analysis;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.check.ControlFlow;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Which registers hold values that are still needed, by backward data flow. The assembler schedules
 * anew and shares registers, so what it uses is near this number and not equal to it.
 */
public final class Liveness {

  private final List<Register> registers;
  private final BitSet[] before;

  private Liveness(List<Register> registers, BitSet[] before) {
    this.registers = registers;
    this.before = before;
  }

  public static Liveness of(Kernel kernel) {
    var registers = new ArrayList<>(kernel.registers());
    var numbers = new HashMap<Register, Integer>();
    registers.forEach(r -> numbers.put(r, numbers.size()));
    var flow = ControlFlow.of(kernel);
    var body = kernel.body();
    var before = new BitSet[body.size()];
    for (int i = 0; i < before.length; i++) {
      before[i] = new BitSet();
    }
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int i = body.size() - 1; i >= 0; i--) {
        var live = new BitSet();
        flow.successors(i).forEach(successor -> live.or(before[successor]));
        if (body.get(i) instanceof Instruction instruction) {
          if (instruction.guard() == null) {
            // what is written only in some lanes keeps its value in the others
            instruction.writes().forEach(r -> live.clear(numbers.getOrDefault(r, 0)));
          }
          instruction.reads().forEach(r -> live.set(numbers.getOrDefault(r, 0)));
        }
        if (!live.equals(before[i])) {
          before[i] = live;
          changed = true;
        }
      }
    }
    return new Liveness(registers, before);
  }

  /** The registers that are needed when a statement is reached. */
  public List<Register> before(int statement) {
    return before[statement].stream().mapToObj(registers::get).toList();
  }

  /** How many 32-bit registers they take; predicates live elsewhere and take none. */
  public int words(int statement) {
    return before[statement].stream().map(i -> words(registers.get(i).registerClass())).sum();
  }

  /** How many predicates are needed when a statement is reached. */
  public int predicates(int statement) {
    return (int)
        before(statement).stream().filter(r -> r.registerClass() == RegisterClass.PRED).count();
  }

  /** The most 32-bit registers that are needed anywhere. */
  public int mostWords() {
    return IntStream.range(0, before.length).map(this::words).max().orElse(0);
  }

  /**
   * The most predicates that are needed anywhere. A thread has seven; the assembler keeps what is
   * beyond in registers.
   */
  public int mostPredicates() {
    return IntStream.range(0, before.length).map(this::predicates).max().orElse(0);
  }

  private static int words(RegisterClass registerClass) {
    return switch (registerClass) {
      case PRED -> 0;
      case B16, B32, F32 -> 1;
      case B64, F64 -> 2;
    };
  }
}
