package dev.athanor.ops.lift;

import java.util.Map;

/** The inputs of a {@link KernelReference}. */
public final class ReferenceInputs {
  private final Map<String, double[]> elements;

  ReferenceInputs(Map<String, double[]> elements) {
    this.elements = elements;
  }

  /** Returns whether an optional input is given. */
  public boolean has(String name) {
    return elements.containsKey(name);
  }

  /**
   * Returns the elements of an input, row-major.
   *
   * @throws IllegalArgumentException if there is no such input
   */
  public double[] get(String name) {
    var found = elements.get(name);
    if (found == null) {
      throw new IllegalArgumentException(
          "the reference asks for the input \"%s\"; inputs are %s"
              .formatted(name, String.join(", ", elements.keySet())));
    }
    return found;
  }
}
