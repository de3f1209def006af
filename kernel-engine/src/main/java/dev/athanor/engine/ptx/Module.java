package dev.athanor.engine.ptx;

import java.util.List;
import java.util.Optional;

/** A PTX module: version, target, variables, device functions and kernels. */
public record Module(
    Version version,
    Target target,
    List<Variable> variables,
    List<Function> functions,
    List<Kernel> kernels) {
  /** The PTX version that all drivers since CUDA 11.4 support. */
  public static final Version PORTABLE = new Version(7, 4);

  public Module {
    variables = List.copyOf(variables);
    functions = List.copyOf(functions);
    kernels = List.copyOf(kernels);
  }

  /** Creates a module that has only kernels. */
  public Module(Version version, Target target, List<Kernel> kernels) {
    this(version, target, List.of(), List.of(), kernels);
  }

  /**
   * Creates a module of one kernel, its constants and the functions of the device runtime that it
   * calls, with the lowest version and target that support its instructions; at least 7.4 and
   * sm_80.
   */
  public static Module of(Kernel kernel) {
    var version = kernel.instructions().map(i -> i.since().version()).reduce(PORTABLE, Module::max);
    var target =
        kernel
            .instructions()
            .map(i -> i.since().target())
            .reduce(Target.SM_80, (a, b) -> b.canRun(a) ? b : a);
    var functions = kernel.runtimeFunctions().map(Function::declaration).toList();
    return new Module(version, target, kernel.constants(), functions, List.of(kernel));
  }

  public Optional<Kernel> kernel(String name) {
    return kernels.stream().filter(k -> k.name().equals(name)).findFirst();
  }

  private static Version max(Version a, Version b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  /** Returns the PTX text. */
  @Override
  public String toString() {
    return Printer.print(this);
  }
}
