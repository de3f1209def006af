package dev.athanor.engine.ptx.legal;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;

/**
 * Rewrites kernels for older targets. Each instruction that a target lacks becomes a sequence of
 * instructions with the same results, so that kernels written for Ampere also run on Volta and
 * Turing. Only sums of floating-point matrix products are rounded in another order.
 */
public final class Legalizer {

  private Legalizer() {}

  /** Returns a module of one kernel for a target, as {@link #legalize(Module, Target)} does. */
  public static Module legalize(Kernel kernel, Target target) {
    return legalize(Module.of(kernel), target);
  }

  /**
   * Returns a module for a target: the module itself if the target runs it, otherwise one whose
   * kernels are rewritten. Instructions without a replacement remain, and the module then still
   * requires a newer target, as does one that says so without need. Modules that define device
   * functions are not rewritten.
   */
  public static Module legalize(Module module, Target target) {
    if (target.canRun(module.target())
        || module.functions().stream().anyMatch(Function::isDefined)
        || isForNewerDevices(module, target)) {
      return module;
    }
    var kernels = module.kernels().stream().map(kernel -> rewritten(kernel, target)).toList();
    var version = Module.PORTABLE;
    // as for other modules, since older versions of PTX lack the names of newer targets
    var least = target.canRun(Target.SM_80) ? Target.SM_80 : target;
    for (var kernel : kernels) {
      for (var instruction : kernel.instructions().toList()) {
        var since = instruction.since();
        version = newer(version, since.version());
        least = least.canRun(since.target()) ? least : since.target();
      }
    }
    return new Module(version, least, module.variables(), module.functions(), kernels);
  }

  /**
   * Returns whether a module has no instruction that the target lacks, but is for a newer one than
   * {@link Module#of} chooses at least.
   */
  private static boolean isForNewerDevices(Module module, Target target) {
    return !Target.SM_80.canRun(module.target())
        && module.kernels().stream()
            .flatMap(Kernel::instructions)
            .allMatch(each -> target.canRun(each.since().target()));
  }

  private static Version newer(Version a, Version b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  private static Kernel rewritten(Kernel kernel, Target target) {
    var sequence = new Sequence(kernel);
    for (var statement : kernel.body()) {
      if (statement instanceof Instruction given && !target.canRun(given.since().target())) {
        sequence.begin(given);
        Replacements.of(given, target)
            .ifPresentOrElse(write -> write.accept(sequence), sequence::keep);
      } else {
        sequence.keep(statement);
      }
    }
    return kernel.withBody(sequence.statements());
  }
}
