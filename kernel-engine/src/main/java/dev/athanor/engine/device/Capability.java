package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Target;

/**
 * What a planner has to know of a device.
 *
 * @param id the kind and number: {@code emulator:0}, {@code cuda:0}
 * @param name what its maker calls it
 * @param target the newest code that it runs
 * @param driver the driver's version, or the emulator's
 * @param multiprocessors how many blocks can at least run at once
 * @param maxThreadsPerBlock the most threads of a block
 * @param sharedBytesPerBlock shared memory that every kernel may have
 * @param sharedBytesPerBlockOptIn shared memory that a kernel may ask for
 * @param memoryBytes the device's memory
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
    long memoryBytes) {}
