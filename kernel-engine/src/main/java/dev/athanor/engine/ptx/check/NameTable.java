package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Variable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/** The symbols of a kernel or function: variables, parameters, functions and labels. */
final class NameTable {

  /** The size of a variable whose definition or launch determines it. */
  static final long OPEN = -1;

  /**
   * The memory of a variable or parameter.
   *
   * @param bytes its size, or {@link #OPEN}
   * @param alignment in bytes
   */
  record Storage(Space space, long bytes, int alignment) {}

  /** The names of a module, which all its kernels and functions share. */
  static final class OfModule {
    private final Map<String, Storage> variables = new LinkedHashMap<>();
    private final Map<String, Function> functions = new LinkedHashMap<>();

    OfModule(Module module) {
      module.variables().forEach(v -> variables.put(v.name(), NameTable.storage(v)));
      module.functions().forEach(f -> functions.put(f.name(), f));
    }
  }

  private final OfModule module;
  private final Map<String, Storage> variables = new LinkedHashMap<>();
  private final Map<String, String> kinds = new LinkedHashMap<>();

  /**
   * @param repeated takes the kind and the name of each declaration whose name is already taken
   */
  NameTable(
      OfModule module, Kernel code, List<Parameter> results, BiConsumer<String, String> repeated) {
    this.module = module;
    for (var statement : code.body()) {
      var name =
          switch (statement) {
            case Statement.Label label -> label.name();
            case Statement.Prototype prototype -> prototype.name();
            case Statement.TargetList targets -> targets.name();
            case Statement.Instruction _ -> null;
          };
      if (name != null) {
        kinds.putIfAbsent(name, "label"); // repeated labels are reported at their statements
      }
    }
    code.parameters().forEach(p -> declare(p.name(), "parameter", storage(p), repeated));
    results.forEach(p -> declare(p.name(), "result", storage(p), repeated));
    for (var array : code.shared()) {
      long bytes = array.isDynamic() ? OPEN : array.bytes();
      declare(
          array.name(),
          "shared array",
          new Storage(Space.SHARED, bytes, array.alignment()),
          repeated);
    }
    code.declaredLocals().forEach(v -> declare(v.name(), "variable", storage(v), repeated));
  }

  private void declare(
      String name, String kind, Storage storage, BiConsumer<String, String> repeated) {
    if (kinds.putIfAbsent(name, kind) != null) {
      repeated.accept(kind, name);
    }
    variables.put(name, storage);
  }

  private static Storage storage(Parameter p) {
    return new Storage(Space.PARAM, p.bytes(), p.alignment());
  }

  private static Storage storage(Variable v) {
    return new Storage(v.space(), v.count() == Variable.UNSIZED ? OPEN : v.bytes(), v.alignment());
  }

  Optional<Storage> variable(String name) {
    var own = variables.get(name);
    return Optional.ofNullable(own == null ? module.variables.get(name) : own);
  }

  Optional<Function> function(String name) {
    return Optional.ofNullable(module.functions.get(name));
  }

  List<String> functions() {
    return List.copyOf(module.functions.keySet());
  }

  /** Returns the names of the variables in some state spaces. */
  List<String> in(List<Space> spaces) {
    return Stream.of(module.variables, variables)
        .flatMap(map -> map.entrySet().stream())
        .filter(e -> spaces.contains(e.getValue().space()))
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Returns all names that stand for an address. */
  List<String> all() {
    return Stream.of(module.variables, variables, module.functions)
        .flatMap(map -> map.keySet().stream())
        .toList();
  }
}
