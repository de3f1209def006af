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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The device's global memory. Addresses are never reused, and a gap follows every buffer, so that
 * accesses beyond a buffer or to a closed one are detected.
 */
public final class GlobalMemory {

  /** The alignment of buffers in bytes. */
  static final int ALIGNMENT = 256;

  /** Above 32 bits, so that a truncated pointer is invalid. */
  private static final long FIRST_ADDRESS = 0x10_0000_0000L;

  private static final long GAP = 1 << 16;

  /** The maximum number of closed buffers that messages can name. */
  private static final int MAX_CLOSED = 4096;

  /** The maximum size of the host memory that is kept for reuse, in bytes. */
  private static final long MAX_CACHED_BYTES = 64 << 20;

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
   * @param limit the size of the memory in bytes
   * @param sanitized whether to track which bytes have been written
   */
  public GlobalMemory(long limit, boolean sanitized) {
    this.limit = limit;
    this.sanitized = sanitized;
    // with the sanitizer, a stale access had better fail than find the memory of another buffer
    blocks =
        new HostMemoryPool(
            sanitized ? 0 : MAX_CACHED_BYTES, bytes -> HostMemory.pageable(bytes, _ -> {}));
  }

  /**
   * Allocates a buffer and poisons it.
   *
   * @throws DeviceException.OutOfMemory if the device or the host has too little memory
   */
  public Allocation allocate(long bytes) {
    return allocate(bytes, "a buffer");
  }

  /**
   * Allocates a buffer as {@link #allocate(long)} does.
   *
   * @param name of the buffer in messages
   */
  public Allocation allocate(long bytes, String name) {
    var allocation = allocateForWriting(bytes, name);
    poison(allocation.segment());
    return allocation;
  }

  /** Allocates a buffer as {@link #allocate(long, String)} does, with any contents. */
  public synchronized Allocation allocateForWriting(long bytes, String name) {
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
    var allocation = new Allocation(this, block, bytes, nextAddress, name, sanitized);
    nextAddress += Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT + GAP;
    used += bytes;
    open.put(allocation.address(), allocation);
    snapshot = null;
    return allocation;
  }

  /** Fills memory with a pattern that is NaN in every floating-point type. */
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
   * Creates the heap of {@code malloc} in kernels unless it exists.
   *
   * @throws DeviceException.OutOfMemory if the device or the host has too little memory
   */
  public synchronized void openHeap(long bytes) {
    if (heap == null) {
      heap = new DeviceHeap(allocate(bytes, "the device heap"));
    }
  }

  /** The heap of {@code malloc} in kernels; null = no loaded kernel needs one. */
  public synchronized @Nullable DeviceHeap heap() {
    return heap;
  }

  /** Releases a buffer that has been closed; its host memory is freed once no kernel runs. */
  synchronized void release(Allocation allocation) {
    open.remove(allocation.address());
    closed.addLast(allocation);
    if (closed.size() > MAX_CLOSED) {
      closed.removeFirst();
    }
    snapshot = null;
    unfreed.add(allocation);
    freeUnused();
  }

  /** Begins a use of the buffers: until {@link #leave} no host memory is freed. */
  public synchronized void enter() {
    users++;
  }

  /** Ends a use of the buffers. */
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

  /** Closes all buffers; their host memory is freed as soon as it is not in use. */
  public synchronized void close() {
    List.copyOf(open.values()).forEach(Allocation::close);
    blocks.close();
  }

  /** Returns the buffers that are open now. */
  public synchronized Snapshot snapshot() {
    var now = snapshot;
    if (now == null) {
      now = new Snapshot(open.values(), this::closed, heap);
      snapshot = now;
    }
    return now;
  }

  /** Returns the buffers that were closed last. */
  private synchronized List<Allocation> closed() {
    return List.copyOf(closed);
  }

  /** The open buffers at one moment, ordered by address. */
  public static final class Snapshot {
    private final Allocation[] open;
    private final long[] addresses;
    private final Supplier<List<Allocation>> closed;
    private final @Nullable DeviceHeap heap;

    /**
     * @param closed returns closed buffers; called only to explain a fault
     */
    public Snapshot(
        Collection<Allocation> open, Supplier<List<Allocation>> closed, @Nullable DeviceHeap heap) {
      this.heap = heap;
      this.open = open.toArray(Allocation[]::new);
      this.addresses = Arrays.stream(this.open).mapToLong(Allocation::address).toArray();
      this.closed = closed;
    }

    /** The heap of {@code malloc} in kernels; null = no loaded kernel needs one. */
    public @Nullable DeviceHeap heap() {
      return heap;
    }

    /** The open buffer that contains all of these bytes; null = none. */
    public @Nullable Allocation find(long address, long bytes) {
      int at = Arrays.binarySearch(addresses, address);
      int index = at >= 0 ? at : -at - 2;
      return index >= 0 && open[index].bytes() - bytes >= address - addresses[index]
          ? open[index]
          : null;
    }

    /** The kind of fault of an access that {@link #find} does not allow. */
    public Report.Kind faultKind(long address) {
      return isNull(address)
          ? Report.Kind.NULL_POINTER
          : closed.get().stream().anyMatch(each -> each.contains(address))
              ? Report.Kind.USE_AFTER_CLOSE
              : Report.Kind.OUT_OF_BOUNDS;
    }

    private static boolean isNull(long address) {
      return Long.compareUnsigned(address, GAP) < 0;
    }

    /** A message about an access that {@link #find} does not allow. */
    public String describe(long address, long bytes) {
      if (isNull(address)) {
        return "touches %d bytes at 0x%x, which is a null pointer%s"
            .formatted(bytes, address, address == 0 ? "" : " and an offset");
      }
      for (var each : closed.get()) {
        if (each.contains(address)) {
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
