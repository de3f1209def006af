package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;

/** The size of a warp: the same on all NVIDIA GPUs. */
public final class WarpSize {

  /** The number of lanes of a warp. */
  public static final int LANES = Fragment.LANES;

  private WarpSize() {}
}
