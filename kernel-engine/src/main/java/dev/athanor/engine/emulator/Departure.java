package dev.athanor.engine.emulator;

/**
 * Compiled code came to what it cannot do, as a rule because a thread did something undefined. The
 * interpreter runs the block again and says what that is.
 */
final class Departure extends RuntimeException {

  Departure() {
    super("compiled code cannot go on", null, false, false);
  }
}
