package dev.athanor.client;

import java.time.Instant;
import java.util.List;

/**
 * A model that the service stores.
 *
 * @param version greater than that of any earlier model with the name
 * @param outputs the names of the outputs
 */
public record ModelInfo(
    String name, long version, Instant created, List<Input> inputs, List<String> outputs) {
  public ModelInfo {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /**
   * An input.
   *
   * @param dtype such as {@code f32}
   * @param shape numbers, or names of extents that calls choose; a name stands for one extent
   */
  public record Input(String name, String dtype, List<String> shape) {
    public Input {
      shape = List.copyOf(shape);
    }
  }
}
