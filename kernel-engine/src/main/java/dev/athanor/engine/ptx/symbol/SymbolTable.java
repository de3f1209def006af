package dev.athanor.engine.ptx.symbol;

import java.util.List;
import java.util.Optional;

/**
 * The source-level frames of a kernel.
 *
 * @param frames innermost frame of each instruction, in the order of the instructions
 * @param methodsWithoutVariables methods whose compiled form does not name its variables
 */
public record SymbolTable(
    List<Optional<SourceFrame>> frames, List<String> methodsWithoutVariables) {

  /** The table of kernels without symbols. */
  public static final SymbolTable NONE = new SymbolTable(List.of(), List.of());

  public SymbolTable {
    frames = List.copyOf(frames);
    methodsWithoutVariables = List.copyOf(methodsWithoutVariables);
  }

  /** Returns the innermost frame of an instruction. */
  public Optional<SourceFrame> frame(int instruction) {
    return instruction < frames.size() ? frames.get(instruction) : Optional.empty();
  }
}
