package dev.athanor.engine.emulator.lanes;

/** An instruction that computes lane by lane, bound to the register arrays of a block. */
public abstract class LaneLoop {

  /** Computes all lanes of the warps from {@code first} to {@code end - 1}. */
  public abstract void all(int first, int end);

  /** Computes the lanes of a warp whose bits are set in {@code mask}. */
  public abstract void some(int warp, int mask);
}
