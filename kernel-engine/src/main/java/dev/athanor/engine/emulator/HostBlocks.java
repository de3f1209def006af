package dev.athanor.engine.emulator;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Memory of the host that buffers have had, kept for the next of their size, as the driver of a GPU
 * does: to have it from the host anew and to give it back takes longer than a small kernel. What
 * was kept for longest without use goes first. Not for several threads at once.
 */
final class HostBlocks implements AutoCloseable {

  /** Some memory, with whatever it holds. */
  record Block(Arena arena, MemorySegment segment) {}

  /** Sizes that differ by less share their blocks. */
  private static final long STEP = GlobalMemory.ALIGNMENT;

  private long most;
  private final Map<Long, Deque<Block>> idle = new LinkedHashMap<>(16, 0.75f, true);
  private long kept;

  /**
   * @param most how many bytes are kept at most
   */
  HostBlocks(long most) {
    this.most = most;
  }

  /**
   * Memory for some bytes, maybe a few more.
   *
   * @throws OutOfMemoryError when the host has none
   */
  Block take(long bytes) {
    long size = Math.ceilDiv(bytes, STEP) * STEP;
    var known = idle.get(size);
    if (known != null) {
      var block = known.pop();
      if (known.isEmpty()) {
        idle.remove(size);
      }
      kept -= size;
      return block;
    }
    var arena = Arena.ofShared();
    try {
      return new Block(arena, arena.allocate(size, GlobalMemory.ALIGNMENT));
    } catch (OutOfMemoryError e) {
      arena.close();
      throw e;
    }
  }

  /** Keeps memory that nobody uses any more, or gives it to the host. */
  void giveBack(Block block) {
    long size = block.segment.byteSize();
    if (size > most) {
      block.arena.close();
      return;
    }
    idle.computeIfAbsent(size, _ -> new ArrayDeque<>()).push(block);
    kept += size;
    var sizes = idle.values().iterator();
    while (kept > most) {
      var blocks = sizes.next();
      while (kept > most && !blocks.isEmpty()) {
        var oldest = blocks.removeLast();
        kept -= oldest.segment.byteSize();
        oldest.arena.close();
      }
      if (blocks.isEmpty()) {
        sizes.remove();
      }
    }
  }

  /** Gives all that is kept to the host, and what comes back later too. */
  @Override
  public void close() {
    idle.values().forEach(blocks -> blocks.forEach(block -> block.arena.close()));
    idle.clear();
    kept = 0;
    most = 0;
  }
}
