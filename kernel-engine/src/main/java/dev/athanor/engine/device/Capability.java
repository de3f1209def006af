package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Target;

/**
 * The properties of a device that planners need.
 *
 * @param id kind and index: {@code emulator:0}, {@code cuda:0}
 * @param name the vendor's name
 * @param target the newest target that it runs
 * @param driver the driver's version, or the emulator's
 * @param multiprocessors number of multiprocessors
 * @param maxThreadsPerBlock maximum number of threads of a block
 * @param sharedBytesPerBlock shared memory of a block without opt-in
 * @param sharedBytesPerBlockOptIn maximum shared memory of a block with opt-in
 * @param memoryBytes size of the device's memory
 */
public record Capability(
    String id,
    String name,
    Target target,
    String driver,
    int multiprocessors,
    int maxThreadsPerBlock,
    int sharedBytesPerBlock,
    int sharedBytesPerBlockOptIn,
    long memoryBytes) {

  /** The name of an emulator that does not stand for a certain GPU. */
  public static final String EMULATOR = "Athanor PTX emulator";

  /**
   * Returns whether the device is an emulator, whose time depends on other things than a GPU's.
   * Returns false for the capability of a GPU whose kernels an emulator runs, to profile them.
   */
  public boolean isEmulated() {
    return name.equals(EMULATOR);
  }
}
