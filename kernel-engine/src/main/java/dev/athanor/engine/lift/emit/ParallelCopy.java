package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.ptx.Operand.Register;
import java.util.ArrayList;
import java.util.List;

/** Assigns the arguments of an edge to the parameters of its target, all at once. */
final class ParallelCopy {

  private record Copy(Value parameter, Value argument) {}

  private final Operands operands;

  ParallelCopy(Operands operands) {
    this.operands = operands;
  }

  void emit(List<Value> parameters, List<Value> arguments) {
    var pending = new ArrayList<Copy>();
    for (int i = 0; i < parameters.size(); i++) {
      if (parameters.get(i) != arguments.get(i)) {
        pending.add(new Copy(parameters.get(i), arguments.get(i)));
      }
    }
    while (!pending.isEmpty()) {
      var free = pending.stream().filter(copy -> isFree(copy, pending)).findFirst();
      if (free.isPresent()) {
        var copy = free.get();
        operands.move(operands.register(copy.parameter), copy.argument);
        pending.remove(copy);
      } else {
        breakCycle(pending);
      }
    }
  }

  /** Returns whether no other copy reads the parameter. */
  @SuppressWarnings("ReferenceEquality") // two copies may be equal
  private static boolean isFree(Copy copy, List<Copy> pending) {
    return pending.stream().noneMatch(other -> other != copy && other.argument == copy.parameter);
  }

  /** Saves the value of a parameter that another copy reads. */
  private void breakCycle(List<Copy> pending) {
    var parameter = pending.getFirst().parameter;
    var saved = new Value(Op.PHI, parameter.type(), List.of(), null, parameter.source());
    Register register = operands.register(saved);
    operands.move(register, parameter);
    pending.replaceAll(copy -> copy.argument == parameter ? new Copy(copy.parameter, saved) : copy);
  }
}
