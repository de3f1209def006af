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

/** What the names in a kernel or function stand for, registers aside. */
final class NameTable {

  /** The size of a variable that is known only later. */
  static final long OPEN = -1;

  /**
   * A variable or parameter.
   *
   * @param bytes its size, or {@link #OPEN}
   */
  record Place(Space space, long bytes, int alignment) {}

  /** The names of a module, which all its kernels and functions share. */
  static final class OfModule {
    private final Map<String, Place> places = new LinkedHashMap<>();
    private final Map<String, Function> functions = new LinkedHashMap<>();

    OfModule(Module module) {
      module.variables().forEach(v -> places.put(v.name(), NameTable.place(v)));
      module.functions().forEach(f -> functions.put(f.name(), f));
    }
  }

  private final OfModule module;
  private final Map<String, Place> places = new LinkedHashMap<>();
  private final Map<String, String> kinds = new LinkedHashMap<>();

  /**
   * @param repeated hears of names of the body that are there already, with what they name again
   */
  NameTable(
      OfModule module, Kernel code, List<Parameter> results, BiConsumer<String, String> repeated) {
    this.module = module;
    for (var statement : code.body()) {
      var name =
          switch (statement) {
            case Statement.Label label -> label.name();
            case Statement.Prototype prototype -> prototype.name();
            case Statement.Targets targets -> targets.name();
            case Statement.Instruction _ -> null;
          };
      if (name != null) {
        kinds.putIfAbsent(name, "label"); // a label twice is a fault of its statement
      }
    }
    code.parameters().forEach(p -> declare(p.name(), "parameter", place(p), repeated));
    results.forEach(p -> declare(p.name(), "result", place(p), repeated));
    for (var array : code.shared()) {
      long bytes = array.isDynamic() ? OPEN : array.bytes();
      declare(
          array.name(),
          "shared array",
          new Place(Space.SHARED, bytes, array.alignment()),
          repeated);
    }
    code.locals().forEach(v -> declare(v.name(), "variable", place(v), repeated));
  }

  private void declare(String name, String kind, Place place, BiConsumer<String, String> repeated) {
    if (kinds.putIfAbsent(name, kind) != null) {
      repeated.accept(kind, name);
    }
    places.put(name, place);
  }

  private static Place place(Parameter p) {
    return new Place(Space.PARAM, p.bytes(), p.alignment());
  }

  private static Place place(Variable v) {
    return new Place(v.space(), v.count() == Variable.OPEN ? OPEN : v.bytes(), v.alignment());
  }

  Optional<Place> place(String name) {
    var own = places.get(name);
    return Optional.ofNullable(own == null ? module.places.get(name) : own);
  }

  Optional<Function> function(String name) {
    return Optional.ofNullable(module.functions.get(name));
  }

  List<String> functions() {
    return List.copyOf(module.functions.keySet());
  }

  /** The names in a state space. */
  List<String> in(Space space) {
    return java.util.stream.Stream.of(module.places, places)
        .flatMap(map -> map.entrySet().stream())
        .filter(e -> e.getValue().space() == space)
        .map(Map.Entry::getKey)
        .toList();
  }

  /** All names that stand for an address. */
  List<String> all() {
    return java.util.stream.Stream.of(module.places, places, module.functions)
        .flatMap(map -> map.keySet().stream())
        .toList();
  }
}
