package dev.athanor.engine.emulator.sanitizer;

/** Receives pairs of accesses to the same bytes of which one writes. */
interface ConflictListener {

  /**
   * An access may conflict with an earlier one.
   *
   * @param lane of the access
   * @param before the {@link AccessStamp} of the earlier one
   * @param cluster that made the earlier one
   * @param wrote whether the earlier one wrote
   */
  void conflict(Access access, int lane, long before, int cluster, boolean wrote);
}
