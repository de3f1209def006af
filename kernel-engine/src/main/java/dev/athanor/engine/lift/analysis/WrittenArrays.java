package dev.athanor.engine.lift.analysis;

import dev.athanor.engine.lift.ir.ArgumentValue;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The parameters whose memory an address may point into, and the arrays that a kernel writes. */
public final class WrittenArrays {
  private final PhiInputs phis;
  private final Set<String> written = new TreeSet<>();

  private WrittenArrays(PhiInputs phis) {
    this.phis = phis;
  }

  /** Analyzes a graph. */
  public static WrittenArrays of(Graph graph) {
    var found = new WrittenArrays(new PhiInputs(graph));
    graph
        .instructions()
        .flatMap(WrittenArrays::writtenAddresses)
        .forEach(address -> found.written.addAll(found.roots(address)));
    return found;
  }

  private static Stream<Value> writtenAddresses(Value value) {
    return switch (value.op()) {
      case STORE -> Stream.of(value.input(0));
      case CALL ->
          value.attribute(Intrinsic.class).signature().written().stream().map(value::input);
      default -> Stream.empty();
    };
  }

  /** Returns the names of the parameters that the kernel writes. */
  public Set<String> names() {
    return written;
  }

  /** Returns the names of the parameters that an address may be derived from. */
  public Set<String> roots(Value address) {
    var roots = new TreeSet<String>();
    collect(address, roots, new HashSet<>());
    return roots;
  }

  private void collect(Value value, Set<String> roots, Set<Value> seen) {
    if (value.type() == ValueType.LONG && seen.add(value)) {
      if (value.is(Op.ARGUMENT)
          && value.attribute(ArgumentValue.class).part() == ArgumentValue.Part.ADDRESS) {
        roots.add(value.attribute(ArgumentValue.class).argument().name());
      }
      phis.of(value).forEach(each -> collect(each, roots, seen));
      if (!value.is(Op.LOAD)) {
        value.inputs().forEach(each -> collect(each, roots, seen));
      }
    }
  }
}
