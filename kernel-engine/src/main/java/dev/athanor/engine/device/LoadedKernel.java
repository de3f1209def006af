package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel;

/** A kernel that a device holds ready. It lives as long as its device. */
public interface LoadedKernel {

  Kernel kernel();

  /** How many registers a thread has; 0 where that is not known, as on the emulator. */
  default int registers() {
    return 0;
  }

  /**
   * How many bytes of local memory a thread takes beyond what the kernel declares. They hold
   * registers that were spilled. 0 where that is not known, as on the emulator.
   */
  default int spilledBytes() {
    return 0;
  }

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
