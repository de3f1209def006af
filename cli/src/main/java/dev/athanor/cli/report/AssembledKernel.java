package dev.athanor.cli.report;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Liveness;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.CubinException;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Roofline;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.legal.Legalizer;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A kernel assembled for a GPU.
 *
 * @param registers registers per thread; without an assembler, the maximum of live registers
 * @param source the source of that number, such as the assembler's name
 * @param code the machine code; null without an assembler
 */
public record AssembledKernel(int registers, String source, @Nullable KernelCode code) {

  /** Assembles a kernel with the first assembler that accepts it. */
  public static AssembledKernel of(Module given, String name, Gpu gpu) {
    var module = Legalizer.legalize(given, gpu.target());
    var kernel = module.kernel(name).orElseThrow();
    return Stream.<Assembler>concat(JCudaAssembler.find().stream(), Ptxas.find().stream())
        .flatMap(assembler -> assembled(assembler, module, kernel, gpu).stream())
        .findFirst()
        .orElseGet(() ->
            new AssembledKernel(
                Liveness.of(kernel).mostWords(), "live registers, without an assembler", null));
  }

  /** Returns empty if the assembler rejects the module, for example if it is older than the PTX. */
  private static Optional<AssembledKernel> assembled(
      Assembler assembler, Module module, Kernel kernel, Gpu gpu) {
    try {
      var code = MachineCode.of(assembler, module.toString(), gpu.target()).of(kernel.name());
      return Optional.of(new AssembledKernel(code.usage().registers(), assembler.name(), code));
    } catch (Assembler.AssemblyException | CubinException e) {
      return Optional.empty();
    }
  }

  /** Returns the bounds of a launch. */
  Roofline bounds(Profile launch, Gpu gpu) {
    return Roofline.of(launch, gpu, registers, code);
  }

  /** Returns the bounds of a launch that transfers {@code dramBytes} of device memory. */
  Roofline bounds(Profile launch, Gpu gpu, double dramBytes) {
    return Roofline.of(launch, gpu, registers, code, dramBytes);
  }
}
