package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.HostMemoryPool;
import dev.athanor.engine.device.Report;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The device's memory. Every allocation has an address of its own that is never used again, with a
 * gap after it, so that an access beyond a buffer or into a closed one is seen.
 */
public final class GlobalMemory {

  /** The multiple at which every buffer lies. */
  static final int ALIGNMENT = 256;

  /** Beyond 32 bits, so that a truncated pointer points nowhere. */
  private static final long FIRST_ADDRESS = 0x10_0000_0000L;

  private static final long GAP = 1 << 16;

  /** How many closed buffers are remembered for the sake of messages. */
  private static final int REMEMBERED = 4096;

  /** How many bytes of closed buffers are kept for new ones. */
  private static final long KEPT = 64 << 20;

  private final long limit;
  private final boolean sanitized;
  private final TreeMap<Long, Allocation> open = new TreeMap<>();
  private final ArrayDeque<Allocation> closed = new ArrayDeque<>();
  private final List<Allocation> unfreed = new ArrayList<>();
  private final HostMemoryPool blocks;
  private long used;
  private long nextAddress = FIRST_ADDRESS;
  private int users;
  private @Nullable Snapshot snapshot;
  private @Nullable DeviceHeap heap;

  /**
   * @param sanitized whether it is kept in mind which bytes somebody has written
   */
  public GlobalMemory(long limit, boolean sanitized) {
    this.limit = limit;
    this.sanitized = sanitized;
    // the sanitizer had better meet memory that is gone than memory that is another's
    blocks = new HostMemoryPool(sanitized ? 0 : KEPT, bytes -> HostMemory.pageable(bytes, _ -> {}));
  }

  /** A new buffer, filled with values that show when they are used. */
  public Allocation allocate(long bytes) {
    return allocate(bytes, "a buffer");
  }

  /**
   * As {@link #allocate(long)}.
   *
   * @param name what messages call it
   */
  public Allocation allocate(long bytes, String name) {
    Allocation allocation;
    synchronized (this) {
      if (bytes > limit - used) {
        throw new DeviceException.OutOfMemory(bytes, limit - used);
      }
      HostMemory block;
      try {
        block = blocks.acquire(bytes);
      } catch (DeviceException.OutOfMemory e) {
        var refused = new DeviceException.OutOfMemory(bytes, limit - used);
        refused.initCause(e);
        throw refused;
      }
      allocation = new Allocation(this, block, bytes, nextAddress, name, sanitized);
      nextAddress += Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT + GAP;
      used += bytes;
      open.put(allocation.address(), allocation);
      snapshot = null;
    }
    poison(allocation.segment());
    return allocation;
  }

  /** Fills memory with a pattern that is a NaN in every floating-point type. */
  public static void poison(MemorySegment segment) {
    long whole = segment.byteSize() & -4L;
    if (whole > 0) {
      segment.set(ValueLayout.JAVA_INT_UNALIGNED, 0, Registers.POISON);
    }
    for (long done = 4; done < whole; done *= 2) {
      MemorySegment.copy(segment, 0, segment, done, Math.min(done, whole - done));
    }
    segment.asSlice(whole).fill((byte) 0xFF);
  }

  /**
   * Makes the heap of kernels that allocate, if it is not there.
   *
   * @throws DeviceException.OutOfMemory when so much is not free
   */
  public synchronized void openHeap(long bytes) {
    if (heap == null) {
      heap = new DeviceHeap(allocate(bytes, "the device heap"));
    }
  }

  /** What kernels allocate from; null = none was loaded that does. */
  public synchronized @Nullable DeviceHeap heap() {
    return heap;
  }

  /** Called once by an allocation that is closed. */
  synchronized void release(Allocation allocation) {
    open.remove(allocation.address());
    closed.addLast(allocation);
    if (closed.size() > REMEMBERED) {
      closed.removeFirst();
    }
    snapshot = null;
    unfreed.add(allocation);
    freeUnused();
  }

  /** Until {@link #leave} no memory is given back to the host. */
  public synchronized void enter() {
    users++;
  }

  public synchronized void leave() {
    users--;
    freeUnused();
  }

  private void freeUnused() {
    if (users == 0) {
      for (var allocation : unfreed) {
        blocks.release(allocation.block());
        used -= allocation.bytes();
      }
      unfreed.clear();
    }
  }

  public synchronized long used() {
    return used;
  }

  public long limit() {
    return limit;
  }

  /** Closes all buffers; the memory goes back to the host as soon as nobody uses it. */
  public synchronized void close() {
    List.copyOf(open.values()).forEach(Allocation::close);
    blocks.close();
  }

  /** The buffers as they are now. */
  public synchronized Snapshot snapshot() {
    var now = snapshot;
    if (now == null) {
      now = new Snapshot(open.values(), List.copyOf(closed), heap);
      snapshot = now;
    }
    return now;
  }

  /** The buffers at one moment, by address. */
  public static final class Snapshot {
    private final Allocation[] open;
    private final long[] addresses;
    private final List<Allocation> closed;
    private final @Nullable DeviceHeap heap;

    public Snapshot(
        Collection<Allocation> open, List<Allocation> closed, @Nullable DeviceHeap heap) {
      this.heap = heap;
      this.open = open.toArray(Allocation[]::new);
      this.addresses = Arrays.stream(this.open).mapToLong(Allocation::address).toArray();
      this.closed = closed;
    }

    /** What kernels allocate from; null = none was loaded that does. */
    public @Nullable DeviceHeap heap() {
      return heap;
    }

    /** The open buffer in which all of these bytes lie. */
    public @Nullable Allocation find(long address, long bytes) {
      int at = Arrays.binarySearch(addresses, address);
      int index = at >= 0 ? at : -at - 2;
      return index >= 0 && open[index].bytes() - bytes >= address - addresses[index]
          ? open[index]
          : null;
    }

    /** Which kind of fault an access to bytes is that lie in no open buffer. */
    public Report.Kind complaint(long address) {
      return isNull(address)
          ? Report.Kind.NULL_POINTER
          : closed.stream().anyMatch(each -> each.has(address))
              ? Report.Kind.USE_AFTER_CLOSE
              : Report.Kind.OUT_OF_BOUNDS;
    }

    private static boolean isNull(long address) {
      return Long.compareUnsigned(address, GAP) < 0;
    }

    /** What is wrong with an access to bytes that lie in no open buffer. */
    public String describe(long address, long bytes) {
      if (isNull(address)) {
        return "touches %d bytes at 0x%x, which is a null pointer%s"
            .formatted(bytes, address, address == 0 ? "" : " and an offset");
      }
      for (var each : closed) {
        if (each.has(address)) {
          return touches(address, bytes, each) + ", which is closed";
        }
      }
      Allocation nearest = null;
      for (var each : open) {
        if (nearest == null || distance(each, address) < distance(nearest, address)) {
          nearest = each;
        }
      }
      return nearest == null
          ? "touches %d bytes at 0x%x, but there is no buffer".formatted(bytes, address)
          : touches(address, bytes, nearest);
    }

    private static String touches(long address, long bytes, Allocation allocation) {
      long first = address - allocation.address();
      return "touches bytes %d..%d of %s".formatted(first, first + bytes - 1, allocation);
    }

    private static double distance(Allocation allocation, long address) {
      double offset = (double) address - allocation.address();
      return offset < 0 ? -offset : Math.max(0, offset - allocation.bytes() + 1);
    }
  }
}
