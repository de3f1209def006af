package dev.athanor.service.device;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.HostMemoryPool;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.tensor.DeviceStorage;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of a device. Memory is zeroed when it is freed, unless the device overwrites it when
 * it allocates it again.
 */
public final class DeviceMemory implements DeviceStorage, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceMemory.class);

  /** Host memory kept for small pieces, in bytes. */
  private static final long SMALL_BYTES = 256L * Staging.SMALL;

  private final int number;
  private final Device device;
  private final DeviceHealth health;
  private final HostMemoryPool hostMemory;
  private final Staging staging;
  private final Stream stream;
  private final PlatformThreads threads;
  private final Activity activity;
  private final ReentrantLock streamLock = new ReentrantLock();
  private volatile LongConsumer shortageAction = _ -> {};
  private volatile Consumer<Buffer> onFree = _ -> {};

  /**
   * Creates the memory of a device.
   *
   * @param number the number of the device in {@code health}
   * @param settings defines how much host memory is kept for tensors in transfer
   */
  public DeviceMemory(int number, Device device, DeviceHealth health, RunSettings settings) {
    this.number = number;
    this.device = device;
    this.health = health;
    threads = new PlatformThreads(device);
    activity = health.watch(number, "memory");
    long bytes = settings.stagingBytes().toBytes();
    hostMemory = new HostMemoryPool(bytes + SMALL_BYTES, this::allocateHost);
    staging = new Staging(hostMemory, bytes);
    stream = device.openStream();
  }

  @Override
  public int number() {
    return number;
  }

  @Override
  public String id() {
    return device.capability().id();
  }

  @Override
  public boolean isLost() {
    return health.isLost(number);
  }

  /** Returns the platform threads for blocking calls to this device. */
  PlatformThreads threads() {
    return threads;
  }

  /** Translates a fault of this device into a failure for the client, and marks a lost device. */
  Failure explain(DeviceException fault) {
    return health.explain(number, fault);
  }

  @Override
  public long free() {
    try {
      var memory = threads.call(device::memory);
      return memory.free() + memory.pooled();
    } catch (DeviceException e) {
      throw explain(e);
    }
  }

  /** Whether the device is busy. */
  boolean isBusy() {
    return health.isBusy(number);
  }

  /**
   * Sets the action that releases memory before an allocation fails; it receives the number of
   * bytes.
   */
  public void onShortage(LongConsumer action) {
    shortageAction = action;
  }

  /**
   * Allocates memory whose contents are undefined; one byte for a tensor without elements, which
   * needs an address too.
   *
   * @throws DeviceException.OutOfMemory if memory does not suffice even after the shortage action
   */
  public Buffer allocate(long bytes) {
    return allocate(bytes, device::allocate);
  }

  /**
   * Allocates memory that is written before anything reads it.
   *
   * @throws DeviceException.OutOfMemory as for {@link #allocate}
   */
  public Buffer allocateForWriting(long bytes) {
    return allocate(bytes, device::allocateForWriting);
  }

  private Buffer allocate(long bytes, LongFunction<Buffer> how) {
    return threads.call(() -> {
      try {
        return how.apply(Math.max(bytes, 1));
      } catch (DeviceException.OutOfMemory e) {
        LOG.debug("Freeing memory to allocate {} bytes", bytes);
        shortageAction.accept(bytes);
        return how.apply(Math.max(bytes, 1));
      }
    });
  }

  /** Sets the action that runs before memory of a tensor is freed. */
  public void onFree(Consumer<Buffer> action) {
    onFree = action;
  }

  /**
   * Allocates optional memory: an allocation that fails does not trigger the shortage action.
   *
   * @throws DeviceException.OutOfMemory if memory does not suffice
   */
  public Buffer spare(long bytes) {
    return device.allocate(bytes);
  }

  /**
   * Allocates optional memory that is written before anything reads it.
   *
   * @throws DeviceException.OutOfMemory if memory does not suffice
   */
  public Buffer spareForWriting(long bytes) {
    return device.allocateForWriting(Math.max(bytes, 1));
  }

  /**
   * Enqueues a copy into newly allocated optional memory.
   *
   * @throws DeviceException.OutOfMemory if memory does not suffice
   */
  public Buffer copy(Buffer source, Stream on) {
    var copy = spareForWriting(source.bytes());
    try {
      on.copy(source, 0, copy, 0, source.bytes());
      return copy;
    } catch (DeviceException e) {
      free(copy);
      throw e;
    }
  }

  /**
   * Allocates pinned host memory.
   *
   * @throws DeviceException.OutOfMemory if memory does not suffice
   */
  public HostMemory allocateHost(long bytes) {
    return threads.call(() -> device.allocateHost(bytes));
  }

  /**
   * Returns a piece of pinned host memory for a transfer of at most {@code bytes} bytes.
   *
   * @throws dev.athanor.service.failure.Failure if host memory does not suffice or the device is
   *     lost
   */
  public Piece stage(long bytes) {
    try {
      return staging.take(bytes);
    } catch (DeviceException e) {
      throw explain(e);
    }
  }

  /**
   * Takes pinned host memory from the pool.
   *
   * @throws DeviceException.OutOfMemory if memory does not suffice
   */
  HostMemory takeHost(long bytes) {
    try {
      return hostMemory.acquire(bytes);
    } catch (DeviceException.OutOfMemory e) {
      throw e;
    } catch (DeviceException e) {
      throw explain(e);
    }
  }

  /** Returns host memory to the pool; no work may still use it. */
  void releaseHost(HostMemory memory) {
    if (memory.segment().byteSize() > Staging.LARGE) {
      threads.run(() -> hostMemory.release(memory)); // may call the driver to unpin it
    } else {
      hostMemory.release(memory);
    }
  }

  /** Zeroes and frees memory in stream order, without waiting. */
  void free(Buffer buffer, Stream after) {
    if (!device.clearsMemory()) {
      after.fill(buffer, 0, buffer.bytes(), (byte) 0);
    }
    buffer.close();
  }

  /** Zeroes and frees memory that no work uses any more. */
  @Override
  public void free(Buffer buffer) {
    threads.run(() -> {
      try (buffer) {
        onFree.accept(buffer);
        exclusively(() -> {
          if (!isLost() && !device.clearsMemory()) {
            stream.fill(buffer, 0, buffer.bytes(), (byte) 0);
            stream.synchronize();
          }
        });
      } catch (DeviceException e) {
        // Memory that is not zeroed must not be reused, so the device counts as lost.
        explain(new DeviceException.Lost("memory could not be zeroed: " + e.getMessage()));
      }
    });
  }

  @Override
  public void read(Buffer buffer, MemorySegment target) {
    transfer(() -> stream.download(buffer, 0, target));
  }

  @Override
  public HostMemory save(Buffer buffer) {
    HostMemory saved;
    try {
      saved = allocateHost(buffer.bytes());
    } catch (DeviceException e) {
      throw explain(e);
    }
    try {
      read(buffer, saved.segment());
    } catch (RuntimeException e) {
      saved.close();
      throw e;
    }
    return saved;
  }

  @Override
  public Buffer restore(HostMemory saved) {
    Buffer buffer;
    try {
      buffer = allocateForWriting(saved.segment().byteSize());
    } catch (DeviceException e) {
      throw explain(e);
    }
    try {
      transfer(() -> stream.upload(saved.segment(), buffer, 0));
    } catch (RuntimeException e) {
      free(buffer);
      throw e;
    }
    return buffer;
  }

  /** Runs a copy on this memory's stream and waits for it. */
  private void transfer(Runnable copy) {
    try {
      threads.run(() ->
          exclusively(() -> {
            copy.run();
            stream.synchronize();
          }));
    } catch (DeviceException e) {
      throw explain(e);
    }
  }

  /** Runs work with exclusive use of this memory's stream. */
  private void exclusively(Runnable work) {
    streamLock.lock();
    try {
      activity.begin();
      work.run();
    } finally {
      activity.end();
      streamLock.unlock();
    }
  }

  @Override
  public void close() {
    threads.close();
    hostMemory.close();
    stream.close();
  }
}
