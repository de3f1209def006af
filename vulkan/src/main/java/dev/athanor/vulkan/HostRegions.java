package dev.athanor.vulkan;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;

/** Host memory that the device accesses directly, so that copies need no staging. */
final class HostRegions {

  private final LogicalDevice device;
  private final PendingWork pending;
  private final Set<HostMemory> open = ConcurrentHashMap.newKeySet();
  private final NavigableMap<Long, MemoryRegion> byAddress = new ConcurrentSkipListMap<>();

  HostRegions(LogicalDevice device, PendingWork pending) {
    this.device = device;
    this.pending = pending;
  }

  /**
   * Allocates host memory.
   *
   * @throws DeviceException.OutOfMemory if the host has none left
   */
  @SuppressWarnings("restricted") // the region has that many bytes
  HostMemory allocate(long bytes) {
    HostMemory.check(bytes);
    device.requireUsable();
    pending.sweep();
    var region = MemoryRegion.require(device, bytes);
    long address = region.requireSegment().address();
    byAddress.put(address, region);
    var arena = Arena.ofShared();
    var memory =
        new HostMemory(
            MemorySegment.ofAddress(address).reinterpret(bytes, arena, null),
            arena,
            closed -> release(closed, address));
    open.add(memory);
    return memory;
  }

  private void release(HostMemory closed, long address) {
    open.remove(closed);
    var region = byAddress.remove(address);
    if (region != null && !device.isUnusable()) {
      pending.defer(region::free);
    }
  }

  /** Returns the device's range of a segment; empty if the memory was not allocated here. */
  Optional<MemoryRegion.Range> find(MemorySegment segment) {
    if (!segment.isNative()) {
      return Optional.empty();
    }
    var found = byAddress.floorEntry(segment.address());
    return found != null
            && segment.address() + segment.byteSize() <= found.getKey() + found.getValue().bytes()
        ? Optional.of(
            found.getValue().range(segment.address() - found.getKey(), segment.byteSize()))
        : Optional.empty();
  }

  /** Closes all memory. */
  void close() {
    List.copyOf(open).forEach(HostMemory::close);
  }
}
