package dev.athanor.engine.analysis.sass;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * How many instructions of each class a piece of code has.
 *
 * @param byClass classes that occur, in the order of {@link InstructionClass}
 */
public record InstructionCounts(Map<InstructionClass, Integer> byClass) {

  public InstructionCounts {
    var sorted = new EnumMap<InstructionClass, Integer>(InstructionClass.class);
    sorted.putAll(byClass);
    byClass = Collections.unmodifiableMap(sorted);
  }

  /** Counts instructions. */
  static InstructionCounts of(Collection<SassInstruction> instructions) {
    var counts = new EnumMap<InstructionClass, Integer>(InstructionClass.class);
    instructions.forEach(each -> counts.merge(each.kind(), 1, Integer::sum));
    return new InstructionCounts(counts);
  }

  /** Returns the number of instructions of a class. */
  public int of(InstructionClass kind) {
    return byClass.getOrDefault(kind, 0);
  }

  /** Returns the number of all instructions. */
  public int total() {
    return byClass.values().stream().mapToInt(Integer::intValue).sum();
  }

  /** Returns the number of matrix instructions. */
  public int matrix() {
    return byClass.entrySet().stream()
        .filter(each -> each.getKey().isMatrix())
        .mapToInt(Map.Entry::getValue)
        .sum();
  }

  /**
   * Returns the instructions of a class for each matrix instruction; NaN or infinite without any.
   */
  public double perMatrix(InstructionClass kind) {
    return (double) of(kind) / matrix();
  }

  /** Returns all instructions for each matrix instruction; infinite without any. */
  public double perMatrix() {
    return (double) total() / matrix();
  }
}
