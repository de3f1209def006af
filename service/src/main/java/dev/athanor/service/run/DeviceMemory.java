package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.tensor.Home;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A device's memory: allocates it, and zeroes what is freed before anyone else can receive it. */
public final class DeviceMemory implements Home, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceMemory.class);

  private final int number;
  private final Device device;
  private final DeviceHealth health;
  private final Stream stream;
  private final ReentrantLock oneAtATime = new ReentrantLock();
  private volatile Runnable makeRoom = () -> {};
  private volatile Consumer<Buffer> onFree = _ -> {};

  /**
   * The memory of a device.
   *
   * @param number of the device in {@code health}
   */
  public DeviceMemory(int number, Device device, DeviceHealth health) {
    this.number = number;
    this.device = device;
    this.health = health;
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

  /** How much can still be allocated, in bytes. */
  long free() {
    var memory = device.memory();
    return memory.free() + memory.pooled();
  }

  /** What to do before an allocation is refused: whatever gives memory back. */
  public void onShortage(Runnable action) {
    makeRoom = action;
  }

  /**
   * Allocates memory whose contents are undefined.
   *
   * @throws DeviceException.OutOfMemory when there is none even after a sweep
   */
  Buffer allocate(long bytes) {
    try {
      return device.allocate(bytes);
    } catch (DeviceException.OutOfMemory e) {
      LOG.debug("making room for {} bytes", bytes);
      makeRoom.run();
      return device.allocate(bytes);
    }
  }

  /** What to do before memory is given back that a tensor may have had. */
  void onFree(Consumer<Buffer> action) {
    onFree = action;
  }

  /**
   * Allocates memory that can be done without: nothing is given up for it.
   *
   * @throws DeviceException.OutOfMemory when there is none
   */
  Buffer spare(long bytes) {
    return device.allocate(bytes);
  }

  /** Zeroes memory behind the work of a stream, and gives it back then; waits for nothing. */
  void free(Buffer buffer, Stream after) {
    after.fill(buffer, 0, buffer.bytes(), (byte) 0);
    buffer.close();
  }

  /** Zeroes memory that no work uses any more and gives it back. */
  @Override
  public void free(Buffer buffer) {
    onFree.accept(buffer);
    oneAtATime.lock();
    try (buffer) {
      if (!isLost()) {
        stream.fill(buffer, 0, buffer.bytes(), (byte) 0);
        stream.synchronize();
      }
    } catch (DeviceException e) {
      // The memory of a device that faults at a fill is lost with it.
      health.explain(number, e);
    } finally {
      oneAtATime.unlock();
    }
  }

  @Override
  public void read(Buffer buffer, MemorySegment target) {
    oneAtATime.lock();
    try {
      stream.download(buffer, 0, target);
      stream.synchronize();
    } catch (DeviceException e) {
      throw health.explain(number, e);
    } finally {
      oneAtATime.unlock();
    }
  }

  @Override
  public void close() {
    stream.close();
  }
}
