package dev.athanor.engine.lift.ir;

/** What an operation does beyond computing its result; decides what passes may do with it. */
public enum Effect {
  /** Depends on inputs only: may be removed, merged and moved anywhere. */
  NONE,
  /**
   * Reads memory that nothing writes: may be removed, merged, and moved to where it surely runs.
   */
  READ_ONLY,
  /** Reads memory: may be removed. */
  READ,
  /** Ends the thread if it fails: may be merged with an equal one that dominates it. */
  CHECK,
  /** Exchanges values between threads: stays where it is, and is removed if unused. */
  CONVERGENT,
  /** Writes memory or synchronizes: stays where it is. */
  WRITE,
  /** Tells a debugger about the program: stays where it is. */
  DEBUG;

  public boolean isRemovable() {
    return this != CHECK && this != WRITE && this != DEBUG;
  }
}
