package dev.athanor.vulkan;

import dev.athanor.engine.device.Device.MemoryUsage;
import dev.athanor.engine.device.DeviceException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A pool of device memory. Drivers limit the number of allocations, so buffers are ranges of large
 * regions: the first free range that is long enough. The range of a closed buffer is free after the
 * work pending at that time.
 */
final class BufferPool {

  private static final long REGION_BYTES = 64L << 20;

  private final LogicalDevice device;
  private final PendingWork pending;
  private final List<Region> regions = new ArrayList<>();
  private long used;
  private long reserved;

  BufferPool(LogicalDevice device, PendingWork pending) {
    this.device = device;
    this.pending = pending;
  }

  /** Memory of the driver and its free ranges, as lengths by offset. */
  private record Region(MemoryRegion memory, TreeMap<Long, Long> free) {
    Region(MemoryRegion memory) {
      this(memory, new TreeMap<>(Map.of(0L, memory.bytes())));
    }

    /** Takes a range; returns its offset, or -1 if no free range is long enough. */
    long take(long bytes) {
      var found = free.entrySet().stream().filter(range -> range.getValue() >= bytes).findFirst();
      if (found.isEmpty()) {
        return -1;
      }
      long offset = found.get().getKey();
      long rest = found.get().getValue() - bytes;
      free.remove(offset);
      if (rest > 0) {
        free.put(offset + bytes, rest);
      }
      return offset;
    }

    void giveBack(long offset, long bytes) {
      long start = offset;
      long length = bytes;
      var before = free.floorEntry(offset);
      if (before != null && before.getKey() + before.getValue() == offset) {
        start = before.getKey();
        length += before.getValue();
      }
      var after = free.remove(offset + bytes);
      free.put(start, after == null ? length : length + after);
    }

    boolean isFree() {
      return free.size() == 1 && free.firstEntry().getValue() == memory.bytes();
    }
  }

  /**
   * Allocates a buffer.
   *
   * @throws IllegalArgumentException if {@code bytes} is less than 1
   * @throws DeviceException.OutOfMemory if neither the pool nor the driver has the memory
   */
  VulkanBuffer allocate(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("a buffer has at least 1 byte, got " + bytes);
    }
    device.requireUsable();
    pending.sweep();
    if (bytes > device.physical().maxAllocationBytes() - MemoryRegion.ALIGNMENT
        || bytes > device.physical().memoryBytes()) {
      throw new DeviceException.OutOfMemory(bytes, usage().free());
    }
    long size = Math.ceilDiv(bytes, MemoryRegion.ALIGNMENT) * MemoryRegion.ALIGNMENT;
    var found = find(size, bytes);
    if (found.isEmpty()) {
      pending.finish();
      trim();
      found = find(size, bytes);
    }
    return found.orElseThrow(() -> new DeviceException.OutOfMemory(bytes, usage().free()));
  }

  private synchronized Optional<VulkanBuffer> find(long size, long bytes) {
    for (var region : regions) {
      long offset = region.take(size);
      if (offset >= 0) {
        return Optional.of(buffer(region, offset, size, bytes));
      }
    }
    var fresh = region(Math.max(REGION_BYTES, size)).or(() -> region(size)).map(Region::new);
    fresh.ifPresent(region -> {
      regions.add(region);
      reserved += region.memory.bytes();
    });
    return fresh.map(region -> buffer(region, region.take(size), size, bytes));
  }

  private Optional<MemoryRegion> region(long size) {
    var physical = device.physical();
    return MemoryRegion.allocate(device, size, physical.deviceMemory(), device.unifiedMemory());
  }

  private VulkanBuffer buffer(Region region, long offset, long size, long bytes) {
    used += size;
    return new VulkanBuffer(
        device, region.memory, offset, bytes, () -> close(region, offset, size));
  }

  private void close(Region region, long offset, long size) {
    synchronized (this) {
      used -= size;
    }
    if (!device.isUnusable()) {
      pending.defer(() -> giveBack(region, offset, size));
    }
  }

  private synchronized void giveBack(Region region, long offset, long size) {
    region.giveBack(offset, size);
  }

  /** Frees the regions without buffers. */
  private synchronized void trim() {
    for (var region : List.copyOf(regions)) {
      if (region.isFree()) {
        regions.remove(region);
        reserved -= region.memory.bytes();
        region.memory.free();
      }
    }
  }

  synchronized MemoryUsage usage() {
    device.requireUsable();
    long free = Math.max(0, device.physical().memoryBytes() - reserved);
    return new MemoryUsage(used, reserved - used, free);
  }

  /** Frees everything. All work must have completed. */
  synchronized void close() {
    regions.forEach(region -> region.memory.free());
    regions.clear();
  }
}
