package dev.athanor.ops.lift;

import java.util.Map;

/** The outputs of an op in float64, computed as simply as possible. */
@FunctionalInterface
public interface KernelReference {

  /**
   * Computes the outputs.
   *
   * @param sizes of the call, and its attributes
   * @return the elements of each output, row-major
   */
  Map<String, double[]> compute(Sizes sizes, ReferenceInputs inputs);
}
