package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Module;
import java.util.Optional;
import java.util.function.Consumer;

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

  /**
   * Allocates host memory for copies to and from this device, whose first byte lies at a multiple
   * of 256. Its contents are undefined. Another device may use it as any native memory, but its
   * work is not waited for when the memory is closed. What {@link #memory} says does not change.
   *
   * @param bytes at least 1
   * @throws DeviceException.OutOfMemory when so much is not to be had, saying why
   */
  default HostMemory allocateHost(long bytes) {
    return HostMemory.pageable(bytes, _ -> {});
  }

  /** Opens a new queue of work, independent of the others. */
  Stream openStream();

  /**
   * Keeps work instead of running it, to enqueue it later at the cost of about one launch. What
   * {@code work} enqueues on the stream that it is given is checked as on any stream; arguments,
   * tensor maps and arrays of bytes among them, are read then. That stream takes launches, copies
   * on the device and fills. Anything else is refused with an {@link IllegalStateException}, and so
   * is everything once {@code work} has returned.
   *
   * <p>Only what goes to that stream is kept: the device is used as ever meanwhile, by {@code work}
   * too, which may allocate, load kernels and close buffers. When {@code work} throws, nothing is
   * kept, and the device goes on.
   *
   * @throws UnsupportedOperationException when the device cannot, which GPUs and the emulator can
   */
  default Graph capture(Consumer<Stream> work) {
    throw new UnsupportedOperationException(
        "%s captures no work; GPUs and the emulator do".formatted(capability().name()));
  }

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
   * Finishes all work and gives everything back. Buffers, streams, graphs and host memory of a
   * closed device may no longer be used.
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
