package dev.athanor.cli.report;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Liveness;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The registers of a thread.
 *
 * @param source who says so
 */
public record KernelRegisters(int count, String source) {

  /** What an assembler gives a kernel; where none takes it, the registers that live at once. */
  public static KernelRegisters of(Module module, Kernel kernel, Gpu gpu) {
    var assemblers =
        Stream.<Assembler>concat(JCudaAssembler.find().stream(), Ptxas.find().stream()).toList();
    for (var assembler : assemblers) {
      var assembled = assembled(assembler, module, kernel, gpu);
      if (assembled.isPresent()) {
        return assembled.get();
      }
    }
    return new KernelRegisters(
        Liveness.of(kernel).mostWords(), "live registers, without an assembler");
  }

  /** Nothing where the assembler refuses the module, perhaps since it is older than the PTX. */
  private static Optional<KernelRegisters> assembled(
      Assembler assembler, Module module, Kernel kernel, Gpu gpu) {
    try {
      var assembly = assembler.assemble(module.toString(), gpu.target());
      return Optional.of(
          new KernelRegisters(assembly.of(kernel.name()).registers(), assembler.name()));
    } catch (Assembler.AssemblyException e) {
      return Optional.empty();
    }
  }
}
