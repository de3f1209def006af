package dev.athanor.engine.analysis;

import dev.athanor.engine.ptx.Target;
import java.util.Optional;

/**
 * NVIDIA's assembler of PTX to machine code, which needs no GPU. Assemblers may be used by several
 * threads at once.
 */
public sealed interface Assembler permits JCudaAssembler, Ptxas {

  /**
   * Returns the {@code ptxas} on the {@code PATH}, which knows the targets of its toolkit, or else
   * the compiler library that JCuda brings; empty where there is neither.
   */
  static Optional<Assembler> best() {
    return Ptxas.find().<Assembler>map(found -> found).or(JCudaAssembler::find);
  }

  /** Returns the name with the version, such as {@code ptxas 13.0}. */
  String name();

  /**
   * Assembles a module.
   *
   * @param ptx the text, with a {@code .target} that {@code target} runs
   * @param target the target of the machine code
   * @throws AssemblyException if the assembler refuses it or fails
   */
  Assembly assemble(String ptx, Target target);

  /** A failure to assemble a module. */
  final class AssemblyException extends RuntimeException {
    private final String log;

    /** A module that the assembler refuses, with its log, which gives the lines. */
    AssemblyException(String assembler, Target target, String log) {
      super("%s refuses the module for %s:\n%s".formatted(assembler, target, log));
      this.log = log;
    }

    /** A failure of the assembler itself. */
    AssemblyException(String message) {
      super(message);
      log = "";
    }

    /** Returns the log of the assembler; empty if it failed without one. */
    public String log() {
      return log;
    }
  }
}
