package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Module;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A device that runs kernels: a GPU or the emulator. Devices are thread-safe; a {@link Stream} may
 * be used by one thread at a time.
 */
public interface Device extends AutoCloseable {

  /** Returns the device's properties, which never change. */
  Capability capability();

  /**
   * Returns a GPU's PCI bus id, such as 0000:3B:00.0, by which NVIDIA's tools identify it. Empty
   * for devices that are not GPUs.
   */
  default Optional<String> busId() {
    return Optional.empty();
  }

  /**
   * Allocates memory, aligned to 256 bytes. Its contents are undefined.
   *
   * @param bytes at least 1
   * @throws DeviceException.OutOfMemory if not enough memory is free
   */
  Buffer allocate(long bytes);

  /**
   * Allocates memory as {@link #allocate} does for a caller that writes all of it before anything
   * reads it. The emulator then need not mark it as uninitialized.
   */
  default Buffer allocateForWriting(long bytes) {
    return allocate(bytes);
  }

  /** Whether {@link #allocate} overwrites what earlier buffers contained. */
  default boolean clearsMemory() {
    return false;
  }

  /** Whether streams do their work on the calling thread, before their methods return. */
  default boolean isSynchronous() {
    return false;
  }

  /**
   * Allocates host memory for copies to and from this device, aligned to 256 bytes. Its contents
   * are undefined. Other devices may use it like any native memory, but closing the memory does not
   * wait for their work. It does not count in {@link #memory}.
   *
   * @param bytes at least 1
   * @throws DeviceException.OutOfMemory if the host cannot provide the memory
   */
  default HostMemory allocateHost(long bytes) {
    return HostMemory.pageable(bytes, _ -> {});
  }

  /** Opens a new stream, independent of the others. */
  Stream openStream();

  /**
   * Captures work as a graph instead of running it. Enqueuing the graph costs about as much as one
   * launch. Operations that {@code work} enqueues on its stream are checked as on any stream, and
   * their arguments are read during the capture, tensor maps and byte arrays included. The stream
   * accepts launches, device-to-device copies and fills. Other operations, and all operations after
   * {@code work} has returned, throw an {@link IllegalStateException}.
   *
   * <p>Only operations on that stream are captured. The device remains usable meanwhile, also by
   * {@code work}, which may allocate, load kernels and close buffers. If {@code work} throws, the
   * capture is discarded.
   *
   * @throws UnsupportedOperationException if the device does not support graphs
   */
  default Graph capture(Consumer<Stream> work) {
    throw new UnsupportedOperationException(
        "%s does not support graphs; GPUs and the emulator do".formatted(capability().name()));
  }

  /**
   * Loads a kernel. Loading the same kernel again is cheap.
   *
   * @throws DeviceException.LoadFailed if the module cannot be compiled for this device, with the
   *     compiler's log
   */
  LoadedKernel load(Module module, String kernel);

  /**
   * Loads a kernel in machine code.
   *
   * @throws DeviceException.LoadFailed if the machine code is for another device or damaged
   * @throws UnsupportedOperationException if the device runs PTX only, as the emulator does
   */
  default LoadedKernel load(KernelImage image) {
    throw new UnsupportedOperationException(
        "%s runs PTX; machine code runs on GPUs".formatted(capability().name()));
  }

  /** Returns the current memory usage. */
  MemoryUsage memory();

  /**
   * Waits for all work and frees everything. Buffers, streams, graphs and host memory of a closed
   * device must not be used.
   */
  @Override
  void close();

  /**
   * The memory of a device, in bytes.
   *
   * @param used memory of open buffers
   * @param pooled memory kept for later allocations
   * @param free memory that can still be allocated, pooled memory excluded
   */
  record MemoryUsage(long used, long pooled, long free) {}
}
