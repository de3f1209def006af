package dev.athanor.engine.emulator.jit;

/**
 * Ends a segment at an access that compiled code does not execute. The code of the segment catches
 * it and leaves the thread before the instruction.
 */
final class Bailout extends RuntimeException {

  private static final long serialVersionUID = 1;

  Bailout() {
    super("compiled code does not execute this access", null, false, false);
  }
}
