package dev.athanor.engine.lift;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.lift.emit.KernelEmitter;
import dev.athanor.engine.lift.ir.Argument;
import dev.athanor.engine.lift.ir.Parameter;
import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.lang.ref.SoftReference;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * A lifted kernel.
 *
 * @param name in messages
 * @param parameters of the Java method
 * @param written names of the arrays and segments that the kernel writes
 * @param sites places of checks, by the number in the fault record less one
 * @param symbols for debuggers
 * @param cooperative whether blocks wait for each other, so that all must be on the device at once
 * @param loaded what devices have loaded, kept until memory runs short
 */
record CompiledKernel(
    Module module,
    String name,
    List<Parameter> parameters,
    Set<String> written,
    List<Site> sites,
    SymbolTable symbols,
    boolean cooperative,
    Map<Device, SoftReference<LoadedKernel>> loaded) {

  CompiledKernel(
      Module module,
      String name,
      List<Parameter> parameters,
      Set<String> written,
      List<Site> sites,
      SymbolTable symbols) {
    this(
        module,
        name,
        parameters,
        written,
        sites,
        symbols,
        readsWorkspace(module.kernels().getFirst()),
        Collections.synchronizedMap(new WeakHashMap<>()));
  }

  CompiledKernel {
    parameters = List.copyOf(parameters);
    written = Set.copyOf(written);
    sites = List.copyOf(sites);
  }

  /** Returns whether a kernel reads where the workspace of its cooperative launch is. */
  private static boolean readsWorkspace(Kernel kernel) {
    return kernel.body().stream()
        .anyMatch(statement ->
            statement instanceof Statement.Instruction instruction
                && instruction.operands().contains(SpecialRegister.ENVREG2));
  }

  /** Returns the arguments of all parameters, in order. */
  List<Argument> arguments() {
    return parameters.stream().flatMap(each -> each.arguments().stream()).toList();
  }

  Kernel kernel() {
    return module.kernels().getFirst();
  }

  /**
   * Returns the kernel on a device. A device finds a loaded module by its text, which takes time.
   */
  LoadedKernel on(Device device) {
    var reference = loaded.get(device);
    var known = reference == null ? null : reference.get();
    if (known == null) {
      known = device.load(module, kernel().name());
      loaded.put(device, new SoftReference<>(known));
    }
    return known;
  }

  /** Returns whether launches pass a fault record. */
  boolean reportsFaults() {
    return kernel().parameters().stream().anyMatch(p -> p.name().equals(KernelEmitter.FAULT));
  }
}
