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
 * Checks a module against the table and reports every fault at once. The rules, for kernels and
 * functions alike:
 *
 * <ul>
 *   <li>every operand is what its slot takes, and a register has the class that its type asks for;
 *   <li>a name that stands for an address is that of a variable in the state space of the
 *       instruction, a branch goes to a label, and no name is given twice;
 *   <li>a call hands over and takes what its function or prototype says;
 *   <li>an offset from a named variable stays inside it, and is a multiple of what is accessed;
 *   <li>the module's version and target have every instruction;
 *   <li>static shared memory is at most 48 KiB, a block at most 1024 threads, a cluster at most 16
 *       blocks.
 * </ul>
 *
 * <p>{@link #warnings} tells what can be right but seldom is. Not checked here but by the emulator,
 * as it runs: addresses, and barriers that not all threads reach.
 */
public final class Verifier {

  private Verifier() {}

  /** The faults of a module, in the order of its text; none when it is right. */
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
   * What of a module may hang or be undefined, depending on its launch: instructions that a whole
   * warp has to execute together, where a branch before parts its lanes; registers that are read
   * where they are not written on every way, as after a loop that may not be entered, or on none;
   * and variables that are aligned to less than what is accessed at once. And what is allowed but
   * odd: 64-bit addresses of shared memory, branches to where they stand, and loops that do
   * nothing.
   */
  public static List<Violation> warnings(Module module) {
    var all = new ArrayList<Violation>();
    var shared = new NameTable.OfModule(module);
    for (var f : module.functions()) {
      if (f.isDefined()) {
        all.addAll(new BodyVerifier(module, shared, f).doubts());
        warn(module, f.code(), all);
      }
    }
    for (var k : module.kernels()) {
      all.addAll(new BodyVerifier(module, shared, k).doubts());
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
    definitions.doubtful(add);
    new Lints(code).check(add);
    all.addAll(Uniformity.of(code).partedBarriers());
  }

  /**
   * Refuses a module that breaks a rule.
   *
   * @throws IllegalArgumentException with all faults
   */
  public static void verify(Module module) {
    var faults = faults(module);
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(
          faults.stream().map(Violation::toString).collect(Collectors.joining("\n")));
    }
  }

  /** The names of the module itself, and those in the first values of its variables. */
  private static void checkNames(Module module, List<Violation> faults) {
    var names = new HashMap<String, Source>();
    module.functions().forEach(f -> unique(names, f.name(), "function", source(f.code()), faults));
    module.variables().forEach(v -> unique(names, v.name(), "variable", Source.UNKNOWN, faults));
    module.kernels().forEach(k -> unique(names, k.name(), "kernel", source(k), faults));
    for (var variable : module.variables()) {
      for (var value : variable.initial()) {
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

  /** Where the first statement of a kernel or function was written. */
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
              "the module has a %s %s, a name that is already taken%s"
                  .formatted(
                      what, name, first.equals(Source.UNKNOWN) ? "" : " by the code at " + first)));
    }
  }
}
