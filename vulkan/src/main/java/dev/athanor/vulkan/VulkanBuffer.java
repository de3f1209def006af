package dev.athanor.vulkan;

import dev.athanor.engine.device.Buffer;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A buffer in a device's memory: a range of a region of the {@link BufferPool}. */
final class VulkanBuffer implements Buffer {

  private final LogicalDevice device;
  private final MemoryRegion region;
  private final long start;
  private final long bytes;
  private final Runnable onClose;
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * @param start offset of the first byte in the region
   * @param onClose returns the range to its pool; called once
   */
  VulkanBuffer(
      LogicalDevice device, MemoryRegion region, long start, long bytes, Runnable onClose) {
    this.device = device;
    this.region = region;
    this.start = start;
    this.bytes = bytes;
    this.onClose = onClose;
  }

  @Override
  public long address() {
    return region.address() + start;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  /** Returns bytes for the host; null if the host cannot access them. */
  @Nullable MemorySegment segment(long offset, long length) {
    var all = region.segment();
    return all == null ? null : all.asSlice(start + offset, length);
  }

  MemoryRegion.Range range(long offset, long length) {
    return region.range(start + offset, length);
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      onClose.run();
    }
  }

  /**
   * Returns a buffer as one of a device that contains a range.
   *
   * @throws IllegalArgumentException if the buffer belongs to another device or does not contain
   *     the range
   * @throws IllegalStateException if the buffer is closed
   */
  static VulkanBuffer of(LogicalDevice device, Buffer buffer, long offset, long bytes) {
    if (!(buffer instanceof VulkanBuffer own) || own.device != device) {
      throw new IllegalArgumentException("the buffer does not belong to " + device.id());
    }
    if (own.closed.get()) {
      throw new IllegalStateException("the buffer of %d bytes is closed".formatted(own.bytes));
    }
    own.requireRange(offset, bytes);
    return own;
  }
}
