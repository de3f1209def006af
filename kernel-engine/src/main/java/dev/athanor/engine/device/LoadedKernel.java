package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel;

/** A kernel that a device holds ready. It lives as long as its device. */
public interface LoadedKernel {

  Kernel kernel();

  /** Where the machine code came from, for the metrics. */
  Origin origin();

  /** Where machine code can come from. */
  enum Origin {
    /** It was loaded before. */
    HIT,
    /** A cache on disk had it. */
    DISK,
    /** It was compiled now. */
    COMPILED
  }
}
