package dev.athanor.engine.author;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The registers of a thread that hold its elements of a matrix, which is distributed over the lanes
 * of a warp. {@link dev.athanor.engine.layout.Fragments} has the distributions that {@link Mma}
 * takes.
 */
public record MatrixFragment(List<Value> registers) {

  public MatrixFragment {
    registers = List.copyOf(registers);
  }

  /** Returns a fragment of some registers. */
  public static MatrixFragment of(Value... registers) {
    return new MatrixFragment(List.of(registers));
  }

  public int size() {
    return registers.size();
  }

  public Value get(int i) {
    return registers.get(i);
  }

  /** Returns the registers from {@code from}, inclusive, to {@code to}, exclusive. */
  public MatrixFragment part(int from, int to) {
    return new MatrixFragment(registers.subList(from, to));
  }

  /** Returns a fragment with a function of each register. */
  public MatrixFragment map(UnaryOperator<Value> function) {
    return new MatrixFragment(registers.stream().map(function).toList());
  }

  /** Sets variables, as {@link KernelBuilder#variable(MatrixFragment)} declares them. */
  public void set(MatrixFragment values) {
    for (int i = 0; i < values.size(); i++) {
      var value = values.get(i);
      switch (get(i)) {
        case Real.Variable variable -> variable.set((Real) value);
        case Value.Variable variable -> variable.set(value);
        default ->
            throw new IllegalArgumentException(
                BodyEmitter.here()
                    + ": cannot set a fragment of values; declare its variables with variable()");
      }
    }
  }
}
