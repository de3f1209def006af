package dev.athanor.ops;

import dev.athanor.engine.ptx.Kernel;

/**
 * The specialization of a kernel: a record of tile shapes, types and switches. Problem sizes are
 * kernel parameters instead, so one kernel serves all sizes. Equal variants build equal kernels.
 */
public interface Variant {

  /**
   * Returns the name of the kernel, which encodes the whole variant: {@code softmax_f16_256_v8}.
   */
  String name();

  /** Builds the kernel. */
  Kernel build();

  /**
   * Returns whether a request defines what the kernel computes, as an expression does. There are
   * arbitrarily many such kernels, so they evict only each other.
   */
  default boolean isDefinedByRequest() {
    return false;
  }
}
