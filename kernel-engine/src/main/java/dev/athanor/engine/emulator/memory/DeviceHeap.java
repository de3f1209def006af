package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.Report.Place;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory that kernels get from {@code malloc}: one buffer, cut into blocks with a gap between.
 * Blocks outlive launches, as on a GPU. The search for room goes on from the last block, so that
 * freed bytes are used again as late as can be.
 */
public final class DeviceHeap {

  /** What every block's address is a multiple of, and the least gap between two. */
  static final int ALIGNMENT = 16;

  /**
   * A block that a kernel asked for.
   *
   * @param offset in the heap
   * @param bytes as asked for
   */
  public record Chunk(long offset, long bytes, Place allocated) {
    /** The first byte that another block may have. */
    long end() {
      return (Math.ceilDiv(offset + bytes, ALIGNMENT) + 1) * ALIGNMENT;
    }
  }

  /**
   * A block that was freed, for messages.
   *
   * @param freed where
   */
  public record Freed(Chunk chunk, Place freed) {}

  private final Allocation buffer;
  private final TreeMap<Long, Chunk> chunks = new TreeMap<>();
  private final TreeMap<Long, Freed> freed = new TreeMap<>();
  private long next;

  DeviceHeap(Allocation buffer) {
    this.buffer = buffer;
  }

  public Allocation buffer() {
    return buffer;
  }

  /** A new block's address; 0 when there is no room, or for no bytes. */
  public synchronized long allocate(long bytes, Place by) {
    if (bytes <= 0 || bytes > buffer.bytes()) {
      return 0;
    }
    long at = room(next, bytes);
    at = at < 0 ? room(0, bytes) : at;
    if (at < 0) {
      return 0;
    }
    var chunk = new Chunk(at, bytes, by);
    chunks.put(at, chunk);
    next = chunk.end();
    forgetFreed(chunk);
    buffer.forget(at, bytes);
    return buffer.address() + at;
  }

  /** The first offset from a place on that has so much room; -1 = none. */
  private long room(long from, long bytes) {
    long at = from;
    var before = chunks.floorEntry(from);
    if (before != null) {
      at = Math.max(at, before.getValue().end());
    }
    while (at <= buffer.bytes() - bytes) {
      var after = chunks.ceilingEntry(at);
      if (after == null || at + bytes + ALIGNMENT <= after.getKey()) {
        return at;
      }
      at = after.getValue().end();
    }
    return -1;
  }

  private void forgetFreed(Chunk chunk) {
    var before = freed.floorEntry(chunk.offset);
    if (before != null && before.getValue().chunk.end() > chunk.offset) {
      freed.remove(before.getKey());
    }
    freed.subMap(chunk.offset, chunk.end()).clear();
  }

  /**
   * Gives a block back.
   *
   * @return what is wrong with the address; null = nothing
   */
  public synchronized @Nullable String free(long address, Place by) {
    var chunk = chunks.remove(address - buffer.address());
    if (chunk == null) {
      return complaint(address);
    }
    freed.put(chunk.offset, new Freed(chunk, by));
    buffer.forget(chunk.offset, chunk.bytes);
    return null;
  }

  private String complaint(long address) {
    long offset = address - buffer.address();
    var again = freed.get(offset);
    if (again != null) {
      return "frees 0x%x again: %s has freed the block of %d bytes"
          .formatted(address, again.freed, again.chunk.bytes);
    }
    var inside = chunks.floorEntry(offset);
    return inside != null && offset < inside.getKey() + inside.getValue().bytes
        ? "frees 0x%x, which is byte %d of a block of %d bytes, not its first"
            .formatted(address, offset - inside.getKey(), inside.getValue().bytes)
        : "frees 0x%x, which malloc has not returned".formatted(address);
  }

  /** The block that bytes lie in; null = none. */
  public synchronized @Nullable Chunk find(long offset, long bytes) {
    var entry = chunks.floorEntry(offset);
    return entry != null && offset + bytes <= entry.getKey() + entry.getValue().bytes
        ? entry.getValue()
        : null;
  }

  /** The freed block that a byte was in; null = none is remembered. */
  public synchronized @Nullable Freed freed(long offset) {
    var entry = freed.floorEntry(offset);
    return entry != null && offset < entry.getKey() + entry.getValue().chunk.bytes
        ? entry.getValue()
        : null;
  }

  /** The block that begins nearest before a byte, for messages; null = none. */
  public synchronized @Nullable Chunk before(long offset) {
    var entry = chunks.floorEntry(offset);
    return entry == null ? null : entry.getValue();
  }

  /** What was never freed, in a sentence; null = nothing. */
  public synchronized @Nullable String leaks() {
    if (chunks.isEmpty()) {
      return null;
    }
    long bytes = chunks.values().stream().mapToLong(Chunk::bytes).sum();
    var first = Map.Entry.copyOf(chunks.firstEntry()).getValue();
    return "device heap: %d %s of %d bytes in all %s never freed; the first, of %d bytes, was allocated by %s"
        .formatted(
            chunks.size(),
            chunks.size() == 1 ? "block" : "blocks",
            bytes,
            chunks.size() == 1 ? "was" : "were",
            first.bytes,
            first.allocated);
  }
}
