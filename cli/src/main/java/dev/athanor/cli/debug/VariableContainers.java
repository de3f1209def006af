package dev.athanor.cli.debug;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.eclipse.lsp4j.debug.Variable;
import org.jspecify.annotations.Nullable;

/** The variables of a stop that have children, by the client's variable references. */
final class VariableContainers {

  /** Maximum number of children per response. */
  private static final long MAX_CHILDREN = 10_000;

  /** Returns the variables {@code start} to {@code start + count - 1} of a container. */
  @FunctionalInterface
  interface Children {
    List<Variable> get(long start, long count);
  }

  private final List<Children> containers = new ArrayList<>();

  /** Returns the number of a new container. */
  int add(Children children) {
    containers.add(children);
    return containers.size();
  }

  /** Returns the number of a new container with few variables. */
  int add(Supplier<List<Variable>> variables) {
    return add((start, count) -> variables.get().stream().skip(start).limit(count).toList());
  }

  /**
   * Returns the variables of a container.
   *
   * @throws IllegalArgumentException if the number is unknown
   */
  Variable[] get(int number, @Nullable Integer start, @Nullable Integer count) {
    if (number < 1 || number > containers.size()) {
      throw new IllegalArgumentException("this stop has no variables %d".formatted(number));
    }
    long most = count == null || count <= 0 ? MAX_CHILDREN : Math.min(count, MAX_CHILDREN);
    return containers.get(number - 1).get(start == null ? 0 : start, most).toArray(Variable[]::new);
  }

  static Variable variable(String name, String value) {
    var variable = new Variable();
    variable.setName(name);
    variable.setValue(value);
    return variable;
  }
}
