package dev.athanor.ops.quant;

import dev.athanor.engine.author.Real;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Weights in the registers of a thread: neighboring columns of consecutive rows.
 *
 * @param columns number of columns of each row
 * @param weights weights in row-major order
 */
public record WeightPatch(int columns, List<Real> weights) {

  public WeightPatch {
    weights = List.copyOf(weights);
  }

  /** Joins patches of the same rows from left to right. */
  public static WeightPatch beside(List<WeightPatch> parts, int rows) {
    return new WeightPatch(
        parts.stream().mapToInt(WeightPatch::columns).sum(),
        IntStream.range(0, rows)
            .boxed()
            .flatMap(row -> parts.stream().flatMap(part -> part.row(row).stream()))
            .toList());
  }

  public Real get(int row, int column) {
    return weights.get(row * columns + column);
  }

  /** Returns the weights of a row. */
  public List<Real> row(int row) {
    return weights.subList(row * columns, (row + 1) * columns);
  }
}
