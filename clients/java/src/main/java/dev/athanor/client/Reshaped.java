package dev.athanor.client;

import java.util.List;

/** A view of a tensor on the device in another shape. */
record Reshaped(Tensor tensor, List<Long> shape) implements Operand {

  @Override
  public Operand reshape(long... other) {
    return new Reshaped(tensor, Operand.reshaped(shape, other));
  }
}
