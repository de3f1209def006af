package dev.athanor.engine.analysis.sass;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.ptx.Target;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What an assembler made of a module.
 *
 * @param assembler its name and version
 * @param target what the code is for
 * @param kernels in the order of the cubin
 * @param warnings of the assembler, a line each, such as that {@code wgmma} instructions are
 *     serialized
 */
public record MachineCode(
    String assembler, Target target, List<KernelCode> kernels, List<String> warnings) {

  public MachineCode {
    kernels = List.copyOf(kernels);
    warnings = List.copyOf(warnings);
  }

  /**
   * Assembles a module and reads the machine code.
   *
   * @param assembler see {@link Assembler#best()}
   * @throws Assembler.AssemblyException if the assembler refuses the module
   * @throws CubinException if the assembler's cubin cannot be decoded
   */
  public static MachineCode of(Assembler assembler, String ptx, Target target) {
    var assembly = assembler.assemble(ptx, target);
    var kernels =
        Cubin.read(assembly.cubin()).kernels().stream()
            .map(section -> KernelCode.of(section, assembly.of(section.name())))
            .toList();
    return new MachineCode(assembler.name(), target, kernels, assembly.warnings());
  }

  /**
   * Returns the code of a kernel.
   *
   * @throws IllegalArgumentException if the module has no kernel of that name
   */
  public KernelCode of(String kernel) {
    return kernels.stream()
        .filter(each -> each.name().equals(kernel))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException(
                "the module has no kernel %s; it has %s"
                    .formatted(
                        kernel,
                        kernels.stream().map(KernelCode::name).collect(Collectors.joining(", ")))));
  }
}
