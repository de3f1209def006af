package dev.athanor.ops;

import java.util.Set;

/**
 * How runs of an op can be done as one: some inputs are laid one after the other along their first
 * dimension, the others are the same tensors in all runs, and every output is cut along its first
 * dimension into those of the runs. Plans whose {@linkplain Plan#kernel() kernels} have one name
 * compute a row to the same bits wherever it lies and whatever its company.
 *
 * @param inputs those that are laid one after the other; all have as many rows
 */
public record Rows(Set<String> inputs) {
  public Rows {
    inputs = Set.copyOf(inputs);
  }
}
