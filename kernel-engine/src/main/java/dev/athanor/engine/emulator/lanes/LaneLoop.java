package dev.athanor.engine.emulator.lanes;

/** An instruction without memory, bound to the registers of a worker. */
public abstract class LaneLoop {

  /** Computes all lanes of the warps from {@code first} to {@code end - 1}. */
  public abstract void all(int first, int end);

  /** Computes the lanes of a warp that a mask names. */
  public abstract void some(int warp, int mask);
}
