package dev.athanor.engine.emulator;

/**
 * Compiled code came to an access that it cannot do. Compiled code itself catches it, and leaves
 * the thread before the instruction.
 */
final class Departure extends RuntimeException {

  private static final long serialVersionUID = 1;

  Departure() {
    super("compiled code cannot go on", null, false, false);
  }
}
