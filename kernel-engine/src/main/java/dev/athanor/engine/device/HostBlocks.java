package dev.athanor.engine.device;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;

/**
 * Memory of the host that nobody uses, kept for the next who wants as much: to have it from the
 * host anew and to give it back takes longer than much that is done with it. What was kept for
 * longest without use goes first. For several threads at once; none waits while another allocates.
 */
public final class HostBlocks implements AutoCloseable {

  /** Sizes that differ by less share their blocks. */
  private static final long STEP = 256;

  private final LongFunction<HostMemory> source;
  private final Map<Long, Deque<HostMemory>> idle = new LinkedHashMap<>(16, 0.75f, true);
  private long most;
  private long kept;

  /**
   * Nothing is kept yet.
   *
   * @param most how many bytes are kept at most
   * @param source allocates a number of bytes, where none are kept
   */
  public HostBlocks(long most, LongFunction<HostMemory> source) {
    this.most = most;
    this.source = source;
  }

  /**
   * Memory for some bytes, maybe a few more, with whatever it holds.
   *
   * @throws DeviceException.OutOfMemory when there is none
   */
  public HostMemory take(long bytes) {
    long size = Math.ceilDiv(bytes, STEP) * STEP;
    synchronized (this) {
      var known = idle.get(size);
      if (known != null) {
        var block = known.pop();
        if (known.isEmpty()) {
          idle.remove(size);
        }
        kept -= size;
        return block;
      }
    }
    return source.apply(size);
  }

  /** Keeps memory that was taken here and that nobody uses any more, or closes it. */
  public void giveBack(HostMemory block) {
    keep(block).forEach(HostMemory::close);
  }

  /** Keeps a block, and answers those that are kept no more. */
  private synchronized List<HostMemory> keep(HostMemory block) {
    long size = block.segment().byteSize();
    if (size > most) {
      return List.of(block);
    }
    idle.computeIfAbsent(size, _ -> new ArrayDeque<>()).push(block);
    kept += size;
    var surplus = new ArrayList<HostMemory>();
    var sizes = idle.values().iterator();
    while (kept > most) {
      var blocks = sizes.next();
      while (kept > most && !blocks.isEmpty()) {
        var oldest = blocks.removeLast();
        kept -= oldest.segment().byteSize();
        surplus.add(oldest);
      }
      if (blocks.isEmpty()) {
        sizes.remove();
      }
    }
    return surplus;
  }

  /** Closes all that is kept, and what comes back later when it does. */
  @Override
  public synchronized void close() {
    idle.values().forEach(blocks -> blocks.forEach(HostMemory::close));
    idle.clear();
    kept = 0;
    most = 0;
  }
}
