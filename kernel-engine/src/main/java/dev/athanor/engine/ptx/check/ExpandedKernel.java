package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.table.Instructions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A kernel under construction: its statements, its variables, and unique names. */
final class ExpandedKernel {

  private static final int MOST_STATEMENTS = 1 << 20;

  private final Kernel kernel;
  private final Set<String> parameters;
  private final Set<String> taken = new HashSet<>();
  private final Map<String, Integer> repeated = new HashMap<>();
  private final List<Variable> locals = new ArrayList<>();
  private final Map<String, SharedArray> shared = new LinkedHashMap<>();
  private List<Statement> body = new ArrayList<>();
  private int statements;

  /**
   * Begins with the parameters, limits and variables of the given kernel, and without statements.
   */
  ExpandedKernel(Module module, Kernel kernel) {
    this.kernel = kernel;
    this.parameters = kernel.parameters().stream().map(Parameter::name).collect(Collectors.toSet());
    taken.addAll(parameters);
    module.variables().forEach(v -> taken.add(v.name()));
    kernel.registers().forEach(r -> taken.add(r.name()));
    for (var variable : kernel.declaredLocals()) {
      taken.add(variable.name());
      locals.add(local(variable.name(), variable.alignment(), variable.type(), variable.count()));
    }
    for (var array : kernel.shared()) {
      taken.add(array.name());
      shared.put(array.name(), array);
    }
    for (var statement : kernel.body()) {
      if (statement instanceof Label label) {
        taken.add(label.name());
      }
    }
  }

  /** Whether an operand names a parameter of the kernel. */
  boolean isParameter(Operand operand) {
    return operand instanceof Symbol symbol && parameters.contains(symbol.name());
  }

  /** Returns a name that nothing else has, and takes it. */
  String uniqueName(String name) {
    var free = name;
    while (!taken.add(free)) {
      free = name + "$" + repeated.merge(name, 1, Integer::sum);
    }
    return free;
  }

  /** Returns a new register. */
  Register uniqueRegister(RegisterClass registerClass, String name) {
    return new Register(registerClass, uniqueName(name));
  }

  /** Declares a variable in local memory for a parameter or result. */
  Symbol addLocal(String name, Parameter formal) {
    locals.add(local(name, formal.alignment(), formal.type(), formal.count()));
    return new Symbol(name);
  }

  /** Declares a copy of a function's variable in local memory. */
  void addLocal(String name, Variable variable) {
    locals.add(local(name, variable.alignment(), variable.type(), variable.count()));
  }

  private static Variable local(String name, int alignment, Type type, int count) {
    return new Variable("", Space.LOCAL, alignment, type, name, count, List.of());
  }

  /** Declares the shared arrays of a function; returns their names in this kernel. */
  Map<String, String> addShared(Kernel function) {
    var names = new HashMap<String, String>();
    for (var array : function.shared()) {
      var name = array.isModuleScope() ? array.name() : uniqueName(array.name());
      names.put(array.name(), name);
      shared.putIfAbsent(
          name, new SharedArray(name, array.alignment(), array.bytes(), array.isModuleScope()));
    }
    return names;
  }

  /**
   * Adds a statement.
   *
   * @throws IllegalArgumentException when the kernel has too many
   */
  void add(Statement statement) {
    if (++statements > MOST_STATEMENTS) {
      throw new IllegalArgumentException(
          "kernel %s has more than %d statements after its functions are inlined"
              .formatted(kernel.name(), MOST_STATEMENTS));
    }
    body.add(statement);
  }

  void label(String name, Source source) {
    add(new Label(name, source));
  }

  void jump(String label, Source source) {
    add(Instructions.branch(label, null, source));
  }

  void jumpIf(Guard guard, String label, Source source) {
    add(Instructions.branch(label, guard, source));
  }

  /** Jumps where a guard is false; adds nothing without a guard. */
  void jumpUnless(@Nullable Guard guard, String label, Source source) {
    if (guard != null) {
      jumpIf(new Guard(guard.predicate(), !guard.negated()), label, source);
    }
  }

  /** Runs an action and returns the statements that it adds, apart from those of the kernel. */
  List<Statement> section(Runnable action) {
    var outer = body;
    var section = new ArrayList<Statement>();
    body = section;
    action.run();
    body = outer;
    return section;
  }

  /** Adds the statements of a section, which already count. */
  void addAll(List<Statement> section) {
    body.addAll(section);
  }

  Kernel result() {
    return new Kernel(
        kernel.name(),
        kernel.parameters(),
        List.copyOf(shared.values()),
        locals,
        kernel.launchBounds(),
        body);
  }
}
