package dev.athanor.engine.analysis;

import dev.athanor.engine.ptx.Target;
import java.util.Optional;

/**
 * Turns PTX into machine code as NVIDIA's own tools do, without a GPU: the referee of what this
 * engine writes. Assemblers may be used by several threads at once.
 */
public sealed interface Assembler permits JCudaAssembler, Ptxas {

  /**
   * Returns the {@code ptxas} on the {@code PATH}, which knows the targets of its toolkit, or else
   * the compiler library that JCuda brings; empty where there is neither.
   */
  static Optional<Assembler> best() {
    return Ptxas.find().<Assembler>map(found -> found).or(JCudaAssembler::find);
  }

  /** What it is called, with its version. */
  String name();

  /**
   * Assembles a module.
   *
   * @param ptx the text, which says a {@code .target} that {@code target} runs
   * @param target what to make machine code for
   * @throws AssemblyException when the assembler refuses it
   */
  Assembly assemble(String ptx, Target target);

  /** What an assembler refuses, with its log, which gives the lines. */
  final class AssemblyException extends RuntimeException {
    private final String log;

    AssemblyException(String assembler, Target target, String log) {
      super("%s refuses the module for %s:\n%s".formatted(assembler, target, log));
      this.log = log;
    }

    /** What the assembler said. */
    public String log() {
      return log;
    }
  }
}
