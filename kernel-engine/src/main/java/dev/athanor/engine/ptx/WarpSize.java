package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;

/** The warp size, which is the same on all NVIDIA GPUs. */
public final class WarpSize {
  /** Number of lanes of a warp. */
  public static final int LANES = Fragment.LANES;

  private WarpSize() {}
}
