package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/**
 * Checks a module against the instruction table and reports all violations at once. The rules for
 * kernels and functions:
 *
 * <ul>
 *   <li>every operand fits its slot, and every register has the class of its type;
 *   <li>a name that stands for an address is that of a variable in the state space of the
 *       instruction, a branch jumps to a label, and names are unique;
 *   <li>the arguments and results of a call fit the function or prototype;
 *   <li>an access to a named variable stays within its bounds and is aligned;
 *   <li>the module's version and target have every instruction;
 *   <li>static shared memory is at most 48 KiB, a block at most 1024 threads, a cluster at most 16
 *       blocks.
 * </ul>
 *
 * <p>{@link #warnings} reports code that is legal but suspicious. The emulator checks addresses and
 * divergent barriers at run time.
 */
public final class Verifier {

  private Verifier() {}

  /** Returns the violations of a module in the order of its text; empty when it is valid. */
  public static List<Violation> faults(Module module) {
    var faults = new ArrayList<Violation>();
    checkNames(module, faults);
    var shared = new NameTable.OfModule(module);
    module.functions().stream()
        .filter(Function::isDefined)
        .forEach(f -> faults.addAll(new BodyVerifier(module, shared, f).check()));
    module.kernels().forEach(k -> faults.addAll(new BodyVerifier(module, shared, k).check()));
    return faults;
  }

  /**
   * Returns warnings about code that may hang or be undefined, depending on the launch:
   * instructions that need a converged warp, but may follow a divergent branch; registers that are
   * read before they are written, on some path or on all; and accesses wider than the alignment of
   * their variable. Also about suspicious code: 64-bit addresses of shared memory, branches to the
   * next statement, loops without effect, and products that are not awaited.
   */
  public static List<Violation> warnings(Module module) {
    var all = new ArrayList<Violation>();
    var shared = new NameTable.OfModule(module);
    for (var f : module.functions()) {
      if (f.isDefined()) {
        all.addAll(new BodyVerifier(module, shared, f).warnings());
        warn(module, f.code(), all);
      }
    }
    for (var k : module.kernels()) {
      all.addAll(new BodyVerifier(module, shared, k).warnings());
      warn(module, k, all);
    }
    return all;
  }

  private static void warn(Module module, Kernel code, List<Violation> all) {
    var definitions = new Definitions(module, code);
    BiConsumer<Statement, String> add =
        (statement, problem) ->
            all.add(new Violation(statement.source(), statement.toString(), problem));
    definitions.undefined(add);
    definitions.maybeUndefined(add);
    new Lints(code).check(add);
    all.addAll(Uniformity.of(code).divergentBarriers());
  }

  /**
   * Checks a module.
   *
   * @throws IllegalArgumentException with all violations
   */
  public static void verify(Module module) {
    var faults = faults(module);
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(
          faults.stream().map(Violation::toString).collect(Collectors.joining("\n")));
    }
  }

  /** Checks the names of the module itself and those in the initializers of its variables. */
  private static void checkNames(Module module, List<Violation> faults) {
    var names = new HashMap<String, Source>();
    module.functions().forEach(f -> unique(names, f.name(), "function", source(f.code()), faults));
    module.variables().forEach(v -> unique(names, v.name(), "variable", Source.UNKNOWN, faults));
    module.kernels().forEach(k -> unique(names, k.name(), "kernel", source(k), faults));
    for (var variable : module.variables()) {
      for (var value : variable.initializers()) {
        if (!value.symbol().isEmpty() && !names.containsKey(value.symbol())) {
          faults.add(
              new Violation(
                  Source.UNKNOWN,
                  "",
                  "variable %s holds the address of %s, which the module does not declare"
                      .formatted(variable.name(), value.symbol())));
        }
      }
    }
  }

  /** Returns the source of the first statement of a kernel or function. */
  private static Source source(Kernel code) {
    return code.body().isEmpty() ? Source.UNKNOWN : code.body().getFirst().source();
  }

  private static void unique(
      Map<String, Source> names, String name, String what, Source source, List<Violation> faults) {
    var first = names.putIfAbsent(name, source);
    if (first != null) {
      faults.add(
          new Violation(
              source,
              "",
              "the module declares %s %s, but the name is already taken%s"
                  .formatted(
                      what, name, first.equals(Source.UNKNOWN) ? "" : " by the code at " + first)));
    }
  }
}
