package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.CaptureStream;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A device in host memory. Copies and fills run immediately; kernels are not supported. It counts
 * open resources, reuses small freed buffers for allocations of the same size, and fails on demand.
 */
public final class FakeDevice implements Device {

  private static final long DEFAULT_MEMORY = 64L << 20;

  /** Maximum size of pooled buffers. */
  private static final long MAX_POOLED = 1 << 16;

  private final String id;
  private final long memory;
  private final Collection<Long> openHostMemories = new ConcurrentLinkedQueue<>();
  private final Collection<Long> hostMemoriesEver = new ConcurrentLinkedQueue<>();
  private final AtomicLong used = new AtomicLong();
  private final AtomicLong nextAddress = new AtomicLong(256);
  private final Set<FakeBuffer> open = ConcurrentHashMap.newKeySet();
  private final AtomicInteger openGraphs = new AtomicInteger();
  private final AtomicLong downloaded = new AtomicLong();
  private final Map<Long, Queue<MemorySegment>> pool = new ConcurrentHashMap<>();
  private final AtomicInteger allocationsLeft = new AtomicInteger(Integer.MAX_VALUE);
  private final AtomicInteger operationsLeft = new AtomicInteger(Integer.MAX_VALUE);
  private volatile @Nullable DeviceException laterFault;
  private volatile boolean hostIsFull;
  private volatile boolean freedDirty;
  private volatile @Nullable DeviceException fault;
  private volatile @Nullable CountDownLatch hang;
  private volatile boolean synchronous;
  private volatile boolean closed;
  private volatile boolean heldCarrier;

  public FakeDevice() {
    this(0, DEFAULT_MEMORY);
  }

  /** Creates one of several devices, with a memory size in bytes. */
  public FakeDevice(int number, long memory) {
    id = "fake:" + number;
    this.memory = memory;
  }

  @Override
  public Capability capability() {
    return new Capability(id, "Host memory", Target.SM_80, "1", 1, 1024, 49_152, 99_328, memory);
  }

  /** Declares that streams do their work on the calling thread, as they do. */
  public void declareSynchronous() {
    synchronous = true;
  }

  @Override
  public boolean isSynchronous() {
    return synchronous;
  }

  /** Makes the next synchronization of any stream fail; null cancels this. */
  public void failWith(@Nullable DeviceException next) {
    fault = next;
  }

  /** Makes one operation fail after a number of successful stream operations. */
  public void failAfter(int operations, DeviceException next) {
    laterFault = next;
    operationsLeft.set(operations);
  }

  /** Makes all allocations fail after a number of successful ones. */
  public void allowAllocations(int most) {
    allocationsLeft.set(most);
  }

  /** Sets whether all allocations of host memory fail. */
  public void refuseHostMemory(boolean refuse) {
    hostIsFull = refuse;
  }

  /** Makes synchronization of streams hang until the latch is open. */
  public void hangUntil(CountDownLatch end) {
    hang = end;
  }

  /** Returns whether a virtual thread ever made a call that blocks on a real device. */
  public boolean heldCarrier() {
    return heldCarrier;
  }

  public boolean isClosed() {
    return closed;
  }

  private void operate() {
    block();
    var failure = laterFault;
    if (failure != null && operationsLeft.getAndDecrement() == 0) {
      laterFault = null;
      throw failure;
    }
  }

  private void block() {
    heldCarrier |= Thread.currentThread().isVirtual();
  }

  /** Returns whether memory was ever freed without being zeroed. */
  public boolean wasFreedDirty() {
    return freedDirty;
  }

  /** Returns the total number of downloaded bytes. */
  public long downloadedBytes() {
    return downloaded.get();
  }

  public int openBuffers() {
    return open.size();
  }

  public int openGraphs() {
    return openGraphs.get();
  }

  /** Each launch of the graph replays all captured operations. */
  @Override
  public Graph capture(Consumer<Stream> work) {
    var captured = new FakeCapture();
    work.accept(captured);
    captured.end();
    openGraphs.incrementAndGet();
    return new Graph() {
      @Override
      public void launch(Stream stream) {
        captured.work.forEach(each -> each.accept(stream));
      }

      @Override
      public void close() {
        openGraphs.decrementAndGet();
      }
    };
  }

  private static final class FakeCapture extends CaptureStream {
    final List<Consumer<Stream>> work = new ArrayList<>();

    @Override
    public void copy(
        Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
      work.add(stream -> stream.copy(source, sourceOffset, target, targetOffset, bytes));
    }

    @Override
    public void fill(Buffer target, long offset, long bytes, byte value) {
      work.add(stream -> stream.fill(target, offset, bytes, value));
    }

    @Override
    public void launch(Launch launch) {
      throw new UnsupportedOperationException("kernels are not supported");
    }
  }

  private final class FakeBuffer implements Buffer {
    final MemorySegment memory;
    final long address;

    FakeBuffer(long bytes) {
      var pooled = pool.getOrDefault(bytes, new ConcurrentLinkedQueue<>()).poll();
      if (pooled == null) {
        pooled = MemorySegment.ofArray(new byte[Math.toIntExact(bytes)]);
        pooled.fill((byte) 0xA5); // undefined contents, as on a device
      }
      memory = pooled;
      address = nextAddress.getAndAdd((bytes + 255) / 256 * 256);
    }

    @Override
    public long address() {
      return address;
    }

    @Override
    public long bytes() {
      return memory.byteSize();
    }

    @Override
    public void close() {
      if (open.remove(this)) {
        used.addAndGet(-bytes());
        var zeros = MemorySegment.ofArray(new byte[(int) bytes()]);
        freedDirty |= memory.mismatch(zeros) >= 0;
        if (bytes() <= MAX_POOLED) {
          pool.computeIfAbsent(bytes(), _ -> new ConcurrentLinkedQueue<>()).add(memory);
        }
      }
    }

    FakeDevice device() {
      return FakeDevice.this;
    }

    MemorySegment slice(long offset, long bytes) {
      if (!open.contains(this)) {
        throw new IllegalStateException("the buffer is closed");
      }
      return memory.asSlice(offset, bytes);
    }
  }

  @Override
  public Buffer allocate(long bytes) {
    block();
    if (allocationsLeft.getAndUpdate(left -> Math.max(left - 1, 0)) == 0) {
      throw new DeviceException.OutOfMemory(bytes, 0);
    }
    if (used.addAndGet(bytes) > memory) {
      long free = memory - used.addAndGet(-bytes);
      throw new DeviceException.OutOfMemory(bytes, free);
    }
    var buffer = new FakeBuffer(bytes);
    open.add(buffer);
    return buffer;
  }

  @Override
  public HostMemory allocateHost(long bytes) {
    block();
    if (hostIsFull) {
      throw DeviceException.OutOfMemory.ofHost(bytes, "the host is full");
    }
    hostMemoriesEver.add(bytes);
    openHostMemories.add(bytes);
    return HostMemory.pageable(bytes, _ -> openHostMemories.remove(bytes));
  }

  /** Returns the number of open allocations of host memory. */
  public int openHostMemories() {
    return openHostMemories.size();
  }

  /** Returns the number of open allocations of host memory with a size. */
  public int openHostMemories(long bytes) {
    return Collections.frequency(openHostMemories, bytes);
  }

  /** Returns the total number of allocations of host memory with a size. */
  public int hostMemoriesEver(long bytes) {
    return Collections.frequency(hostMemoriesEver, bytes);
  }

  @Override
  public Stream openStream() {
    if (closed) {
      throw new IllegalStateException("the device is closed");
    }
    return new FakeStream();
  }

  @Override
  public LoadedKernel load(Module module, String kernel) {
    throw new UnsupportedOperationException("kernels are not supported");
  }

  @Override
  public MemoryUsage memory() {
    return new MemoryUsage(used.get(), 0, memory - used.get());
  }

  @Override
  public void close() {
    closed = true;
    open.clear();
  }

  private static void awaitUninterruptibly(CountDownLatch end) {
    boolean interrupted = false;
    while (end.getCount() > 0) {
      try {
        end.await();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private final class FakeStream implements Stream {
    @Override
    public void upload(MemorySegment source, Buffer target, long offset) {
      operate();
      slice(target, offset, source.byteSize()).copyFrom(source);
    }

    @Override
    public void download(Buffer source, long offset, MemorySegment target) {
      operate();
      downloaded.addAndGet(target.byteSize());
      target.copyFrom(slice(source, offset, target.byteSize()));
    }

    @Override
    public void copy(
        Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
      operate();
      slice(target, targetOffset, bytes).copyFrom(slice(source, sourceOffset, bytes));
    }

    @Override
    public void fill(Buffer target, long offset, long bytes, byte value) {
      operate();
      slice(target, offset, bytes).fill(value);
    }

    private MemorySegment slice(Buffer buffer, long offset, long bytes) {
      var fake = (FakeBuffer) buffer;
      if (fake.device() != FakeDevice.this) {
        throw new IllegalArgumentException("the buffer belongs to another device");
      }
      return fake.slice(offset, bytes);
    }

    @Override
    public void launch(Launch launch) {
      throw new UnsupportedOperationException("kernels are not supported");
    }

    @Override
    public Event record() {
      long now = System.nanoTime();
      return new FakeEvent(now);
    }

    @Override
    public void await(Event event) {}

    @Override
    public void synchronize() {
      operate();
      var end = hang;
      if (end != null) {
        awaitUninterruptibly(end);
      }
      var failure = fault;
      if (failure != null) {
        fault = null;
        throw failure;
      }
    }

    @Override
    public void close() {}
  }

  private record FakeEvent(long nanos) implements Event {
    @Override
    public void synchronize() {}

    @Override
    public double microsSince(Event earlier) {
      return (nanos - ((FakeEvent) earlier).nanos) / 1e3;
    }

    @Override
    public void close() {}
  }
}
