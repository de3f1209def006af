package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;

/**
 * Copies stages of an operand from global to shared memory: by asynchronous copies, or through
 * registers, where elements can be converted, dequantized or transposed.
 */
public interface Producer {

  /**
   * Starts to fill a stage. Issues asynchronous copies, which the caller commits and awaits, or
   * loads values to registers, so that the latency of global memory overlaps with the
   * multiplication of the previous stage. Elements beyond the operand's ends become zero.
   *
   * @param offset offset of the stage in shared memory, in bytes
   * @param depth first index along K of the stage
   * @return stores the loaded values; to be run after that multiplication
   */
  Runnable fill(Int offset, Int depth);
}
