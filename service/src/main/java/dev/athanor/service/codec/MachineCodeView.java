package dev.athanor.service.codec;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.sass.CubinException;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The JSON view of a kernel's machine code.
 *
 * @param target the target of the machine code
 * @param problem why there is no machine code, and how to get it; null if there is
 * @param code null without machine code
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record MachineCodeView(String target, @Nullable String problem, @Nullable Code code) {

  static final String NO_ASSEMBLER =
      "The server has no assembler. Put ptxas of a CUDA toolkit on the service's PATH, or run the"
          + " service on Linux on x86-64, for which Athanor includes NVIDIA's PTX compiler library.";

  /** Assembling takes seconds of a processor, so kernels are assembled one at a time. */
  private static final Object LOCK = new Object();

  /**
   * An assembled kernel.
   *
   * @param registers per thread
   * @param stackBytes per thread, including spilled registers
   * @param instructions without padding
   * @param byClass the number of instructions of each class that occurs
   */
  public record Code(
      String assembler,
      int registers,
      int spillStoreBytes,
      int spillLoadBytes,
      int stackBytes,
      int instructions,
      Map<InstructionClass, Integer> byClass) {}

  /** Assembles the only kernel of a module. */
  static MachineCodeView of(Module module, String kernel, Target target) {
    synchronized (LOCK) {
      return Assembler.best()
          .map(assembler -> assemble(assembler, module, kernel, target))
          .orElseGet(() -> new MachineCodeView(target.toString(), NO_ASSEMBLER, null));
    }
  }

  private static MachineCodeView assemble(
      Assembler assembler, Module module, String kernel, Target target) {
    try {
      var assembled = MachineCode.of(assembler, module.toString(), target);
      var code = assembled.of(kernel);
      var usage = code.usage();
      return new MachineCodeView(
          target.toString(),
          null,
          new Code(
              assembled.assembler(),
              usage.registers(),
              usage.spillStoreBytes(),
              usage.spillLoadBytes(),
              usage.stackBytes(),
              code.instructions().total(),
              code.instructions().byClass()));
    } catch (Assembler.AssemblyException | CubinException e) {
      return new MachineCodeView(
          target.toString(),
          "%s If %s does not support %s, put ptxas of a newer CUDA toolkit on the service's PATH."
              .formatted(e.getMessage(), assembler.name(), target),
          null);
    }
  }
}
