package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.Real;
import java.util.List;
import java.util.Optional;

/**
 * Consecutive weights of a row that share a scale: weight {@code i} is {@code scale · quants[i] +
 * offset}.
 *
 * @param first index of the first weight in its block or row
 * @param quants small integers, or entries of a table, as f32
 * @param offset absent if it is 0
 */
public record Run(Int first, List<Real> quants, Real scale, Optional<Real> offset) {

  public Run {
    quants = List.copyOf(quants);
  }

  /** Returns the weights. */
  public List<Real> values() {
    return quants.stream()
        .map(q -> offset.map(o -> q.fma(scale, o)).orElseGet(() -> q.times(scale)))
        .toList();
  }
}
