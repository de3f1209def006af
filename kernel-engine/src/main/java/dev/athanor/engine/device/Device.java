package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Module;
import java.util.Optional;

/**
 * Something that runs kernels: a GPU, or the emulator. Devices may be used by several threads at
 * once; a {@link Stream} by one at a time.
 */
public interface Device extends AutoCloseable {

  /** What the device is and can do. It never changes. */
  Capability capability();

  /**
   * Where a GPU is on the PCI bus, such as 0000:3B:00.0: by this its driver's other tools know it
   * too. Empty of what is no GPU.
   */
  default Optional<String> busId() {
    return Optional.empty();
  }

  /**
   * Allocates memory, whose first byte lies at a multiple of 256. Its contents are undefined.
   *
   * @param bytes at least 1
   * @throws DeviceException.OutOfMemory when so much is not free, saying how much is
   */
  Buffer allocate(long bytes);

  /** Opens a new queue of work, independent of the others. */
  Stream openStream();

  /**
   * Makes a kernel ready to launch. Loading the same kernel again is cheap.
   *
   * @throws DeviceException.LoadFailed when the module cannot be compiled for this device, with the
   *     compiler's log
   */
  LoadedKernel load(Module module, String kernel);

  /** How much memory is in use now. */
  MemoryUsage memory();

  /**
   * Finishes all work and gives everything back. Buffers and streams of a closed device may no
   * longer be used.
   */
  @Override
  void close();

  /**
   * The memory of a device, in bytes.
   *
   * @param used by buffers that are allocated
   * @param pooled held ready for later allocations
   * @param free what can still be allocated, pooled memory not counted
   */
  record MemoryUsage(long used, long pooled, long free) {}
}
