package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/**
 * Forward data flow: which registers have been written when a statement is reached, whichever way.
 */
record Definitions(Module module, Kernel code, List<Parameter> results) {

  /** Tells of registers that are read where they are written on no way. */
  void undefined(BiConsumer<Statement, String> faults) {
    var some = written(false);
    reads(
        some,
        (i, register) ->
            faults.accept(i, "reads " + register + ", which is written on no way here"));
  }

  /** Tells of registers that are read where they are written on some ways, but not on all. */
  void doubtful(BiConsumer<Statement, String> warnings) {
    var some = written(false);
    var every = written(true);
    var doubts = new BitSet[some.length];
    for (int at = 0; at < doubts.length; at++) {
      if (some[at] != null && every[at] != null) {
        doubts[at] = (BitSet) some[at].clone();
        doubts[at].andNot(every[at]);
        doubts[at].flip(0, numbers().size());
      }
    }
    reads(
        doubts,
        (i, register) ->
            warnings.accept(i, "reads " + register + ", which is not written on every way here"));
  }

  /** Tells of registers that are read where they are not in the set of their statement. */
  private void reads(BitSet[] sets, BiConsumer<Statement, Register> found) {
    var numbers = numbers();
    var body = code.body();
    for (int at = 0; at < body.size(); at++) {
      if (sets[at] != null && body.get(at) instanceof Instruction i) {
        var read = new LinkedHashSet<>(i.reads());
        if (i.mayReplace()) {
          i.updates().forEach(read::remove);
        }
        read.addAll(i.form().implied(false));
        for (var register : read) {
          if (!sets[at].get(number(numbers, register))) {
            found.accept(i, register);
          }
        }
      }
    }
  }

  /** The numbers of the registers that are written before each statement that can be reached. */
  private BitSet[] written(boolean onEveryWay) {
    var body = code.body();
    var endless =
        module.functions().stream()
            .filter(f -> !f.returns())
            .map(Function::name)
            .collect(Collectors.toSet());
    var flow =
        ControlFlow.of(
            code,
            i ->
                i.form().semantics() instanceof Semantics.Call
                    && i.operands().stream().anyMatch(o -> endless.contains(o.toString())));
    var numbers = numbers();
    var written = new BitSet[body.size()];
    var pending = new ArrayList<Integer>();
    if (!body.isEmpty()) {
      written[0] = new BitSet();
      for (var parameter : code.parameters()) {
        var register = new Register(parameter.type().registerClass(), parameter.name());
        if (parameter.inRegister() && numbers.containsKey(register)) {
          written[0].set(number(numbers, register));
        }
      }
      pending.add(0);
    }
    while (!pending.isEmpty()) {
      int at = pending.removeLast();
      var after = (BitSet) written[at].clone();
      if (body.get(at) instanceof Instruction i) {
        i.writes().forEach(r -> after.set(number(numbers, r)));
        i.form().implied(true).forEach(r -> after.set(number(numbers, r)));
      }
      for (int successor : flow.successors(at)) {
        if (written[successor] == null) {
          written[successor] = (BitSet) after.clone();
          pending.add(successor);
          continue;
        }
        int before = written[successor].cardinality();
        if (onEveryWay) {
          written[successor].and(after);
        } else {
          written[successor].or(after);
        }
        if (written[successor].cardinality() != before) {
          pending.add(successor);
        }
      }
    }
    return written;
  }

  private Map<Register, Integer> numbers() {
    var numbers = new HashMap<Register, Integer>();
    code.registers().forEach(r -> numbers.put(r, numbers.size()));
    numbers.put(Register.CARRY, numbers.size());
    return numbers;
  }

  private static int number(Map<Register, Integer> numbers, Register register) {
    return Objects.requireNonNull(numbers.get(register), register::toString);
  }
}
