package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;

/**
 * Brings stages of an operand from global to shared memory: by asynchronous copies, or through
 * registers, where elements can be converted, dequantized or transposed on the way.
 */
public interface Producer {

  /**
   * Starts to bring a stage. Asynchronous copies are issued, for which the caller commits and
   * waits; or values are loaded to registers, so that their way from global memory passes while the
   * stage before is multiplied. Beyond the operand's ends the stage becomes zero.
   *
   * @param offset of the stage in shared memory, in bytes
   * @param depth the first of K in it
   * @return writes what is left to be written, after that multiplication
   */
  Runnable fill(Int offset, Int depth);
}
