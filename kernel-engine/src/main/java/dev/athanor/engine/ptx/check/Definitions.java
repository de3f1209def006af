package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.flow.ControlFlow;
import dev.athanor.engine.ptx.flow.DataFlow;
import dev.athanor.engine.ptx.flow.DataFlow.Direction;
import dev.athanor.engine.ptx.flow.DataFlow.Meet;
import dev.athanor.engine.ptx.flow.RegisterIndex;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The registers that are written before each statement, on some path or on all paths to it. */
final class Definitions {

  private final Kernel code;
  private final RegisterIndex registers;
  private final List<@Nullable BitSet> onSomePath;
  private final List<@Nullable BitSet> onAllPaths;

  Definitions(Module module, Kernel code) {
    this.code = code;
    var all = new ArrayList<>(code.registers());
    all.add(Register.CARRY);
    this.registers = new RegisterIndex(all);
    var noReturn =
        module.functions().stream()
            .filter(f -> !f.returns())
            .map(Function::name)
            .collect(Collectors.toSet());
    var flow = ControlFlow.of(code, i -> calls(i, noReturn));
    this.onSomePath = solve(flow, DataFlow.UNION);
    this.onAllPaths = solve(flow, DataFlow.INTERSECTION);
  }

  private static boolean calls(Instruction instruction, Set<String> functions) {
    return instruction.form().semantics() instanceof Semantics.Call
        && instruction.operands().stream()
            .anyMatch(o -> o instanceof Operand.Symbol s && functions.contains(s.name()));
  }

  /** Reports registers that are read, but not written on any path. */
  void undefined(BiConsumer<Statement, String> faults) {
    reads(
        (at, register) -> !contains(onSomePath.get(at), register),
        (i, register) ->
            faults.accept(i, "reads " + register + ", which is not written on any path to here"));
  }

  /** Reports registers that are read, but written on some paths only. */
  void maybeUndefined(BiConsumer<Statement, String> warnings) {
    reads(
        (at, register) ->
            contains(onSomePath.get(at), register) && !contains(onAllPaths.get(at), register),
        (i, register) ->
            warnings.accept(
                i, "reads " + register + ", which is not written on all paths to here"));
  }

  private boolean contains(@Nullable BitSet set, Register register) {
    return set != null && set.get(registers.number(register));
  }

  /** Visits the registers that reachable statements read, as far as they are selected. */
  private void reads(
      BiPredicate<Integer, Register> selected, BiConsumer<Statement, Register> visitor) {
    var body = code.body();
    for (int at = 0; at < body.size(); at++) {
      if (onSomePath.get(at) != null && body.get(at) instanceof Instruction i) {
        var read = new LinkedHashSet<>(i.reads());
        if (i.mayOverwriteAccumulator()) {
          i.updates().forEach(read::remove);
        }
        read.addAll(i.form().impliedRegisters(false));
        for (var register : read) {
          if (selected.test(at, register)) {
            visitor.accept(i, register);
          }
        }
      }
    }
  }

  private List<@Nullable BitSet> solve(ControlFlow flow, Meet<BitSet> meet) {
    var body = code.body();
    var entry = new BitSet();
    entry.set(0, Math.min(1, body.size()));
    return new DataFlow<>(
            flow,
            Direction.FORWARD,
            meet,
            (at, written) -> {
              if (body.get(at) instanceof Instruction i) {
                i.writes().forEach(r -> written.set(registers.number(r)));
                i.form().impliedRegisters(true).forEach(r -> written.set(registers.number(r)));
              }
            })
        .solve(entry, parameters());
  }

  /** Returns the parameters that the function receives in registers. */
  private BitSet parameters() {
    var set = new BitSet();
    for (var parameter : code.parameters()) {
      var register = new Register(parameter.type().registerClass(), parameter.name());
      if (parameter.inRegister() && registers.contains(register)) {
        set.set(registers.number(register));
      }
    }
    return set;
  }
}
