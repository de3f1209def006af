package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.Instructions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A function whose body all calls share. A call stores the number of its return label in a register
 * and jumps to the entry; behind the body, a binary search over these numbers jumps back.
 */
final class SharedBody {

  private final ExpandedKernel out;
  private final ParameterPassing passing;
  private final Function function;
  private final String entry;
  private final Register caller;
  private final BodyCopy copy;
  private final List<String> returnLabels = new ArrayList<>();

  SharedBody(ExpandedKernel out, ParameterPassing passing, Function function, int number) {
    this.out = out;
    this.passing = passing;
    this.function = function;
    this.entry = out.uniqueName(function.name() + "$entry");
    this.caller = out.uniqueRegister(RegisterClass.B32, "%caller_of_" + function.name());
    this.copy = BodyCopy.ofFunction(out, function.code(), number);
    Stream.concat(function.code().parameters().stream(), function.results().stream())
        .filter(formal -> !formal.inRegister())
        .forEach(formal -> passing.addAddress(copy, formal));
  }

  BodyCopy copy() {
    return copy;
  }

  String entry() {
    return entry;
  }

  /** Adds a call: passes the arguments, jumps to the body, and takes the results. */
  void call(CallSite site) {
    var source = site.source();
    var places = passing.passToShared(site, function, copy);
    var back = out.uniqueName("$returned");
    var number = Operand.Immediate.of(returnLabels.size());
    returnLabels.add(back);
    out.add(Instructions.move(Type.U32, caller, number, null, source));
    out.jump(entry, source);
    out.label(back, source);
    passing.takeFromShared(site, function, places);
  }

  /** Adds the jump back to the last call; all calls have been added before. */
  void jumpBack() {
    jumpBack(0, returnLabels.size());
  }

  /** Searches among the calls from {@code first} to before {@code end}. */
  private void jumpBack(int first, int end) {
    var source = Source.UNKNOWN;
    if (end - first == 1) {
      out.jump(returnLabels.get(first), source);
      return;
    }
    int middle = (first + end) >>> 1;
    var lower = out.uniqueRegister(RegisterClass.PRED, "%lower");
    var label = out.uniqueName("$lower");
    out.add(
        Instructions.compare(
            Comparison.LT, Type.U32, lower, caller, Operand.Immediate.of(middle), source));
    out.jumpIf(new Guard(lower, false), label, source);
    jumpBack(middle, end);
    out.label(label, source);
    jumpBack(first, middle);
  }
}
