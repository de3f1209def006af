package dev.athanor.engine.emulator.jit;

/**
 * Compiled code came to an access that it cannot do. Compiled code itself catches it, and leaves
 * the thread before the instruction.
 */
final class Bailout extends RuntimeException {

  private static final long serialVersionUID = 1;

  Bailout() {
    super("compiled code cannot go on", null, false, false);
  }
}
