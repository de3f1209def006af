package dev.athanor.ops;

import java.util.Set;

/**
 * The inputs along whose first dimension runs of an op can be batched. These inputs are
 * concatenated along their first dimension, the other inputs are the same tensors in all runs, and
 * every output is split along its first dimension. Plans with equal {@linkplain Plan#kernel()
 * kernel names} compute a row to the same bits regardless of its position and the batch.
 *
 * @param inputs the concatenated inputs; all have the same number of rows
 */
public record Rows(Set<String> inputs) {
  public Rows {
    inputs = Set.copyOf(inputs);
  }
}
