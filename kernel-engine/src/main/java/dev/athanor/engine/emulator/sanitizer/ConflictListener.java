package dev.athanor.engine.emulator.sanitizer;

/** Is told of two accesses that touch the same bytes, and of which one writes. */
interface ConflictListener {

  /**
   * An access that comes now may be in conflict with one before.
   *
   * @param before the {@link AccessStamp} of the one that came first
   * @param cluster in which that was
   * @param wrote whether it wrote
   */
  void judge(long before, int cluster, boolean wrote);
}
