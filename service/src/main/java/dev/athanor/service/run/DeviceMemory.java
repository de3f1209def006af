package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Allocates memory, and zeroes what is freed before anyone else can receive it. */
public final class DeviceMemory implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceMemory.class);

  private final Device device;
  private final DeviceHealth health;
  private final Stream stream;
  private final ReentrantLock oneAtATime = new ReentrantLock();
  private volatile Runnable makeRoom = () -> {};

  public DeviceMemory(Device device, DeviceHealth health) {
    this.device = device;
    this.health = health;
    stream = device.openStream();
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

  /** Zeroes memory behind the work of a stream, and gives it back then; waits for nothing. */
  void free(Buffer buffer, Stream after) {
    after.fill(buffer, 0, buffer.bytes(), (byte) 0);
    buffer.close();
  }

  /** Zeroes memory that no work uses any more and gives it back. */
  public void free(Buffer buffer) {
    oneAtATime.lock();
    try (buffer) {
      if (!health.isLost()) {
        stream.fill(buffer, 0, buffer.bytes(), (byte) 0);
        stream.synchronize();
      }
    } catch (DeviceException e) {
      // Nobody may get memory that was not zeroed, so a device that cannot zero it is lost.
      health.explain(new DeviceException.Lost("memory could not be zeroed: " + e.getMessage()));
    } finally {
      oneAtATime.unlock();
    }
  }

  @Override
  public void close() {
    stream.close();
  }
}
