package dev.athanor.engine.ptx.flow;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.flow.DataFlow.Direction;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/** The live registers before each statement: those whose values may still be read. */
public final class LiveRegisters {

  private final RegisterIndex index;
  private final List<BitSet> before;

  private LiveRegisters(RegisterIndex index, List<BitSet> before) {
    this.index = index;
    this.before = before;
  }

  /**
   * Analyzes the statements of a control-flow graph.
   *
   * @param index contains all registers that {@code reads} and {@code writes} return
   */
  public static LiveRegisters of(
      List<? extends Statement> code,
      ControlFlow flow,
      RegisterIndex index,
      Function<Instruction, Collection<Register>> reads,
      Function<Instruction, Collection<Register>> writes) {
    int[][] uses = new int[code.size()][];
    int[][] kills = new int[code.size()][];
    for (int at = 0; at < uses.length; at++) {
      var instruction = code.get(at) instanceof Instruction i ? i : null;
      uses[at] = instruction == null ? new int[0] : index.numbers(reads.apply(instruction));
      // lanes where the guard is false keep the old value
      kills[at] =
          instruction == null || instruction.guard() != null
              ? new int[0]
              : index.numbers(writes.apply(instruction));
    }
    DataFlow.Transfer<BitSet> transfer =
        (at, live) -> {
          for (int register : kills[at]) {
            live.clear(register);
          }
          for (int register : uses[at]) {
            live.set(register);
          }
        };
    // begin everywhere, since an endless loop has no exit to begin at
    var everywhere = new BitSet();
    everywhere.set(0, code.size());
    var live =
        new DataFlow<>(flow, Direction.BACKWARD, DataFlow.UNION, transfer)
            .solve(everywhere, new BitSet());
    var before = new ArrayList<BitSet>();
    for (int at = 0; at < live.size(); at++) {
      var facts = Objects.requireNonNull(live.get(at));
      transfer.apply(at, facts);
      before.add(facts);
    }
    return new LiveRegisters(index, before);
  }

  /** Returns the registers that are live before a statement, by ascending number. */
  public List<Register> before(int statement) {
    return index.registers(before.get(statement));
  }

  /** Returns the sum of the weights of the registers that are live before a statement. */
  public int sum(int statement, ToIntFunction<Register> weight) {
    var live = before.get(statement);
    int sum = 0;
    for (int at = live.nextSetBit(0); at >= 0; at = live.nextSetBit(at + 1)) {
      sum += weight.applyAsInt(index.register(at));
    }
    return sum;
  }

  /** Whether a register is live before a statement. */
  public boolean isLive(Register register, int statement) {
    return index.contains(register) && before.get(statement).get(index.number(register));
  }
}
