package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;

/** The division of the threads of a block into warps. */
public final class Warps {

  /** The number of lanes of a warp, the same on all NVIDIA GPUs. */
  public static final int SIZE = Fragment.LANES;

  private Warps() {}

  /** Returns the index in the block of a lane of a warp. */
  public static int thread(int warp, int lane) {
    return SIZE * warp + lane;
  }

  /** Returns the index in the block of the lowest lane in a mask. */
  public static int firstThread(int warp, int mask) {
    return thread(warp, Integer.numberOfTrailingZeros(mask));
  }

  /** Returns the warp of a thread. */
  public static int warpOf(int thread) {
    return thread / SIZE;
  }

  /** Returns the lane of a thread in its warp. */
  public static int laneOf(int thread) {
    return thread & (SIZE - 1); // SIZE is a power of two
  }
}
