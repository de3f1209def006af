package dev.athanor.engine.lift;

import dev.athanor.engine.lift.emit.KernelEmitter;
import dev.athanor.engine.lift.ir.Argument;
import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.util.List;
import java.util.Set;

/**
 * A lifted kernel.
 *
 * @param arguments parameters of the Java method
 * @param written names of the arrays and segments that the kernel writes
 * @param sites places of checks, by the number in the fault record less one
 * @param symbols for debuggers
 */
record CompiledKernel(
    Module module,
    List<Argument> arguments,
    Set<String> written,
    List<Site> sites,
    SymbolTable symbols) {
  CompiledKernel {
    arguments = List.copyOf(arguments);
    written = Set.copyOf(written);
    sites = List.copyOf(sites);
  }

  Kernel kernel() {
    return module.kernels().getFirst();
  }

  /** Returns whether launches pass a fault record. */
  boolean reportsFaults() {
    return kernel().parameters().stream().anyMatch(p -> p.name().equals(KernelEmitter.FAULT));
  }
}
