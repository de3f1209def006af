package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.Report.Place;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The heap of {@code malloc} in kernels: one buffer, divided into blocks with gaps between them.
 * Blocks outlive launches, as on a GPU. Allocation is next-fit, so that freed bytes are reused as
 * late as possible.
 */
public final class DeviceHeap {

  /** The alignment of blocks in bytes, and the minimum gap between two. */
  static final int ALIGNMENT = 16;

  /**
   * A block that a kernel has allocated.
   *
   * @param offset in the heap
   * @param bytes that the kernel requested
   * @param allocated the call that allocated it
   */
  public record Chunk(long offset, long bytes, Place allocated) {
    /** The lowest offset of a following block. */
    long end() {
      return (Math.ceilDiv(offset + bytes, ALIGNMENT) + 1) * ALIGNMENT;
    }
  }

  /**
   * A freed block, kept for messages.
   *
   * @param freed the call that freed it
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

  /** Allocates a block and returns its address; 0 if no gap is large enough, or for 0 bytes. */
  public synchronized long allocate(long bytes, Place by) {
    if (bytes <= 0 || bytes > buffer.bytes()) {
      return 0;
    }
    long at = findGap(next, bytes);
    at = at < 0 ? findGap(0, bytes) : at;
    if (at < 0) {
      return 0;
    }
    var chunk = new Chunk(at, bytes, by);
    chunks.put(at, chunk);
    next = chunk.end();
    forgetFreed(chunk);
    buffer.undefine(at, bytes);
    return buffer.address() + at;
  }

  /** The first offset from {@code from} on with enough free bytes; -1 = none. */
  private long findGap(long from, long bytes) {
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
   * Frees a block.
   *
   * @return an error message about the address; null = the block is freed
   */
  public synchronized @Nullable String free(long address, Place by) {
    var chunk = chunks.remove(address - buffer.address());
    if (chunk == null) {
      return invalidFree(address);
    }
    freed.put(chunk.offset, new Freed(chunk, by));
    buffer.undefine(chunk.offset, chunk.bytes);
    return null;
  }

  private String invalidFree(long address) {
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

  /** The block that contains these bytes; null = none. */
  public synchronized @Nullable Chunk find(long offset, long bytes) {
    var entry = chunks.floorEntry(offset);
    return entry != null && offset + bytes <= entry.getKey() + entry.getValue().bytes
        ? entry.getValue()
        : null;
  }

  /** The freed block that contained a byte; null = none, or its bytes are in use again. */
  public synchronized @Nullable Freed freed(long offset) {
    var entry = freed.floorEntry(offset);
    return entry != null && offset < entry.getKey() + entry.getValue().chunk.bytes
        ? entry.getValue()
        : null;
  }

  /** The last block that begins at or before a byte, for messages; null = none. */
  public synchronized @Nullable Chunk before(long offset) {
    var entry = chunks.floorEntry(offset);
    return entry == null ? null : entry.getValue();
  }

  /** A message about the blocks that have not been freed; null = none. */
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
