package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.List;

/**
 * A call with the operands of the caller's copy.
 *
 * @param results the registers and variables that take the results
 * @param arguments the actual parameters
 */
record CallSite(Instruction call, List<Operand> results, List<Operand> arguments) {

  static CallSite of(Instruction call, BodyCopy caller) {
    List<Operand> results = List.of();
    List<Operand> arguments = List.of();
    for (int i = 0; i < call.operands().size(); i++) {
      if (call.operands().get(i) instanceof Operand.Arguments list) {
        var operands = caller.operands(list.list());
        if (call.form().operands().get(i).isResult()) {
          results = operands;
        } else {
          arguments = operands;
        }
      }
    }
    return new CallSite(call, results, arguments);
  }

  Source source() {
    return call.source();
  }

  /**
   * Checks the number of arguments and results against a function.
   *
   * @throws IllegalArgumentException when they differ
   */
  void checkCounts(Function function) {
    int parameters = function.code().parameters().size();
    if (arguments.size() != parameters || results.size() != function.results().size()) {
      throw CallTargets.refused(
          call,
          "has %d arguments and %d results, but %s has %d parameters and %d results"
              .formatted(
                  arguments.size(),
                  results.size(),
                  function.name(),
                  parameters,
                  function.results().size()));
    }
  }
}
