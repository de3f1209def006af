package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel;

/** A kernel loaded on a device. It is valid until the device is closed. */
public interface LoadedKernel {

  Kernel kernel();

  /** Returns the number of registers per thread; 0 if unknown, as on the emulator. */
  default int registers() {
    return 0;
  }

  /**
   * Returns the bytes of spilled registers per thread: local memory beyond what the kernel
   * declares. 0 if unknown, as on the emulator.
   */
  default int spilledBytes() {
    return 0;
  }

  /** Returns the origin of the machine code, for metrics. */
  Origin origin();

  /** The origin of machine code. */
  enum Origin {
    /** The kernel was already loaded. */
    HIT,
    /** The code was in the cache on disk. */
    DISK,
    /** The code was compiled now. */
    COMPILED
  }
}
