package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Report.Kind;

/** The effect of an instruction on the lanes of a block, bound to the block's registers. */
public interface Step {

  /**
   * Executes the instruction for the {@linkplain Block#active active} lanes of the warps from
   * {@code first} to {@code end - 1}.
   *
   * @param whole whether all live lanes are active, so that registers of inactive lanes may be
   *     overwritten
   */
  void execute(int first, int end, boolean whole);

  /** An instruction that the lanes of a warp, or those of its member mask, execute together. */
  interface Collective extends Step {

    /**
     * Returns the live lanes that must execute the instruction together with these.
     *
     * @param mask the lanes of the warp that have arrived
     */
    int needed(int warp, int mask);

    /** Returns whether a member mask names the lanes, rather than the whole warp being meant. */
    default boolean names() {
      return false;
    }
  }

  /** An instruction that waits for an event. */
  interface Event extends Step {

    /** Returns whether the event has happened for all of these lanes; polled until it has. */
    boolean isReady(int warp, int mask);

    /**
     * Completes a pending operation that these lanes wait for; returns whether there was one.
     * Called when no other thread can run.
     */
    default boolean finishOne(int warp, int mask) {
      return false;
    }

    /** Returns whether the wait is limited in time. */
    default boolean expires() {
      return false;
    }

    /** Returns the kind of report for an event that can never happen. */
    default Kind kind(int warp, int mask) {
      return Kind.DEADLOCK;
    }

    /** Describes the event that these lanes wait for and that can never happen. */
    String missing(int warp, int mask);
  }
}
