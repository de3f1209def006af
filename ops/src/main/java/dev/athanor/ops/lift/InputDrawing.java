package dev.athanor.ops.lift;

import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;

/** Draws an input that cannot be arbitrary numbers, such as indices. */
@FunctionalInterface
public interface InputDrawing {

  /**
   * Draws the input.
   *
   * @param sizes of the call, and its attributes
   */
  HostTensor draw(Draw draw, TensorType type, Sizes sizes);
}
