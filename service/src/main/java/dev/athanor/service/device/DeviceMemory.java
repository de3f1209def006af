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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A device's memory: allocates it, and zeroes what is freed before anyone else can receive it. */
public final class DeviceMemory implements DeviceStorage, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceMemory.class);

  /** How much is kept besides large pieces. */
  private static final long SMALL_BYTES = 256L * Staging.SMALL;

  private final int number;
  private final Device device;
  private final DeviceHealth health;
  private final HostMemoryPool hostMemory;
  private final Staging staging;
  private final Stream stream;
  private final PlatformThreads threads;
  private final Activity activity;
  private final ReentrantLock oneAtATime = new ReentrantLock();
  private volatile LongConsumer makeRoom = _ -> {};
  private volatile Consumer<Buffer> onFree = _ -> {};

  /**
   * The memory of a device.
   *
   * @param number of the device in {@code health}
   * @param settings how much host memory is kept for tensors on their way
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

  /** The threads for calls of this device that do not yield. */
  PlatformThreads threads() {
    return threads;
  }

  /** What to tell a client of a fault of this device; one that is lost is remembered. */
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

  /** Whether work of the device is under way, whoever waits for it. */
  boolean isAtWork() {
    return health.isAtWork(number);
  }

  /** What to do with the number of bytes before an allocation is refused: give memory back. */
  public void onShortage(LongConsumer action) {
    makeRoom = action;
  }

  /**
   * Allocates memory whose contents are undefined.
   *
   * @throws DeviceException.OutOfMemory when there is none even after room was made
   */
  public Buffer allocate(long bytes) {
    return threads.call(() -> {
      try {
        return device.allocate(bytes);
      } catch (DeviceException.OutOfMemory e) {
        LOG.debug("making room for {} bytes", bytes);
        makeRoom.accept(bytes);
        return device.allocate(bytes);
      }
    });
  }

  /** What to do before memory is given back that a tensor may have had. */
  public void onFree(Consumer<Buffer> action) {
    onFree = action;
  }

  /**
   * Allocates memory that can be done without: nothing is given up for it.
   *
   * @throws DeviceException.OutOfMemory when there is none
   */
  public Buffer spare(long bytes) {
    return device.allocate(bytes);
  }

  /**
   * Enqueues a copy into new memory that can be done without.
   *
   * @throws DeviceException.OutOfMemory when there is none
   */
  public Buffer copy(Buffer source, Stream on) {
    var copy = spare(source.bytes());
    try {
      on.copy(source, 0, copy, 0, source.bytes());
      return copy;
    } catch (DeviceException e) {
      free(copy);
      throw e;
    }
  }

  /**
   * Allocates memory of the host that the device reaches itself.
   *
   * @throws DeviceException.OutOfMemory when there is none
   */
  public HostMemory allocateHost(long bytes) {
    return threads.call(() -> device.allocateHost(bytes));
  }

  /**
   * A piece of host memory for the next of some bytes that go to the device or come from it.
   *
   * @throws dev.athanor.service.failure.Failure when there is no host memory, or the device is lost
   */
  public Piece stage(long bytes) {
    try {
      return staging.take(bytes);
    } catch (DeviceException e) {
      throw explain(e);
    }
  }

  /**
   * Takes host memory that the device reaches itself.
   *
   * @throws DeviceException.OutOfMemory when there is none
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

  /** Gives host memory that was taken to the next; no work may use it any more. */
  void giveBackHost(HostMemory memory) {
    if (memory.segment().byteSize() > Staging.LARGE) {
      threads.run(() -> hostMemory.release(memory)); // which may have the driver unlock it
    } else {
      hostMemory.release(memory);
    }
  }

  /** Zeroes memory behind the work of a stream, and gives it back then; waits for nothing. */
  void free(Buffer buffer, Stream after) {
    after.fill(buffer, 0, buffer.bytes(), (byte) 0);
    buffer.close();
  }

  /** Zeroes memory that no work uses any more and gives it back. */
  @Override
  public void free(Buffer buffer) {
    threads.run(() -> {
      try (buffer) {
        onFree.accept(buffer);
        alone(() -> {
          if (!isLost()) {
            stream.fill(buffer, 0, buffer.bytes(), (byte) 0);
            stream.synchronize();
          }
        });
      } catch (DeviceException e) {
        // Nobody may get memory that was not zeroed, so a device that cannot zero it is lost.
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
      buffer = allocate(saved.segment().byteSize());
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

  /** Has the stream copy something and waits for it. */
  private void transfer(Runnable copy) {
    try {
      threads.run(() ->
          alone(() -> {
            copy.run();
            stream.synchronize();
          }));
    } catch (DeviceException e) {
      throw explain(e);
    }
  }

  /** Does something with the stream that nobody else uses meanwhile. */
  private void alone(Runnable work) {
    oneAtATime.lock();
    try {
      activity.begin();
      work.run();
    } finally {
      activity.end();
      oneAtATime.unlock();
    }
  }

  @Override
  public void close() {
    threads.close();
    hostMemory.close();
    stream.close();
  }
}
