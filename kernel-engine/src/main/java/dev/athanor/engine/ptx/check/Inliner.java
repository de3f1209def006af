package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Semantics.Call;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.Variable;
import java.util.List;

/**
 * Inlines functions, so that kernels have no calls (PTX ISA 7.1, 9.7.12.5). A copy of the
 * function's body replaces each call. Where this would need too many copies, all calls jump to one
 * shared body, which jumps back ({@link CallPlan}).
 *
 * <ul>
 *   <li>Parameters and results in {@code .param} memory become local memory.
 *   <li>A call through a pointer becomes a chain of comparisons with the addresses of the functions
 *       that it may reach.
 *   <li>An indexed branch becomes a chain of comparisons with the index. Both chains end in a trap.
 * </ul>
 *
 * <p>Copied instructions keep their sources.
 */
public final class Inliner {

  /**
   * The address of a module's first function. The n-th function has the address {@code
   * FIRST_ADDRESS + n * ADDRESS_STEP}, far from all memory.
   */
  public static final long FIRST_ADDRESS = CallTargets.FIRST_ADDRESS;

  /** The distance between the addresses of two functions. */
  public static final long ADDRESS_STEP = CallTargets.ADDRESS_STEP;

  private final Module module;
  private final CallTargets targets;

  public Inliner(Module module) {
    this.module = module;
    this.targets = new CallTargets(module);
  }

  /**
   * Returns a kernel of the module without calls; the kernel itself when it has none.
   *
   * @throws IllegalArgumentException when the module has no such kernel, when functions are
   *     recursive or have no body, or when a call does not fit the function's signature
   */
  public Kernel kernel(String name) {
    var kernel =
        module
            .kernel(name)
            .orElseThrow(() -> new IllegalArgumentException("the module has no kernel " + name));
    boolean plain =
        kernel.locals().stream().noneMatch(v -> v.space() == Space.PARAM)
            && kernel.body().stream().noneMatch(this::concernsFunctions);
    return plain ? kernel : new Expansion(targets, module, kernel).result();
  }

  /** Returns the module's variables, with the addresses of functions as numbers. */
  public List<Variable> variables() {
    return module.variables().stream().map(this::resolved).toList();
  }

  /**
   * Returns the address of a function.
   *
   * @throws IllegalArgumentException when the module does not declare it
   */
  public long address(String function) {
    return targets.address(function);
  }

  private boolean concernsFunctions(Statement statement) {
    return switch (statement) {
      case Label _ -> false;
      case Statement.Prototype _, Statement.TargetList _ -> true;
      case Instruction i ->
          i.form().semantics() instanceof Call
              || i.operands().stream()
                  .anyMatch(o -> o instanceof Symbol s && targets.isFunction(s.name()));
    };
  }

  private Variable resolved(Variable variable) {
    if (variable.initializers().stream().noneMatch(v -> targets.isFunction(v.symbol()))) {
      return variable;
    }
    var values =
        variable.initializers().stream()
            .map(v ->
                targets.isFunction(v.symbol())
                    ? new Variable.Initializer(
                        "",
                        false,
                        new Operand.Immediate(variable.type(), v.bits(address(v.symbol()))))
                    : v)
            .toList();
    return new Variable(
        variable.linkage(),
        variable.space(),
        variable.alignment(),
        variable.type(),
        variable.name(),
        variable.count(),
        values);
  }
}
