package dev.athanor.spark;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The matrices in a device's memory. Each is uploaded once, shared by all tasks, and freed after an
 * idle time.
 */
final class ResidentMatrices implements AutoCloseable {
  private final Device device;
  private final Duration idle;
  private final Map<String, Resident> residents = new HashMap<>();

  /** A matrix on the device. */
  private static final class Resident {
    final Buffer buffer;
    int users;
    boolean forgotten;

    /** Number of uses, by which a timer detects uses since it started. */
    long uses;

    Resident(Buffer buffer) {
      this.buffer = buffer;
    }
  }

  /**
   * @param idle idle time after which an unused matrix is freed
   */
  ResidentMatrices(Device device, Duration idle) {
    this.device = device;
    this.idle = idle;
  }

  /**
   * Returns a matrix on the device, and uploads it if necessary.
   *
   * @param matrix called for the upload only
   * @return its memory, valid until {@link #release}
   * @throws DeviceException.OutOfMemory if the device has too little memory, even without unused
   *     matrices
   */
  synchronized Buffer acquire(String id, Supplier<Matrix> matrix) {
    var resident = residents.get(id);
    if (resident == null) {
      resident = new Resident(upload(matrix.get()));
      residents.put(id, resident);
    }
    resident.users++;
    resident.uses++;
    return resident.buffer;
  }

  private Buffer upload(Matrix matrix) {
    var values = MemorySegment.ofArray(matrix.values());
    var buffer = allocate(values.byteSize());
    try (var stream = device.openStream()) {
      stream.upload(values, buffer, 0);
      stream.synchronize();
      return buffer;
    } catch (RuntimeException e) {
      buffer.close();
      throw e;
    }
  }

  /**
   * Allocates device memory, and frees unused matrices if necessary.
   *
   * @throws DeviceException.OutOfMemory if that is not enough
   */
  Buffer allocate(long bytes) {
    try {
      return device.allocate(bytes);
    } catch (DeviceException.OutOfMemory e) {
      if (freeUnused() == 0) {
        throw e;
      }
      return device.allocate(bytes);
    }
  }

  /** Ends a task's use of a matrix. */
  synchronized void release(String id) {
    var resident = residents.get(id);
    if (resident == null || --resident.users > 0) {
      return;
    }
    if (resident.forgotten) {
      free(each -> each == resident);
      return;
    }
    long uses = resident.uses;
    CompletableFuture.delayedExecutor(idle.toMillis(), TimeUnit.MILLISECONDS)
        .execute(() -> free(each -> each == resident && each.uses == uses));
  }

  /** Frees a matrix as soon as no task uses it. */
  synchronized void forget(String id) {
    var resident = residents.get(id);
    if (resident != null) {
      resident.forgotten = true;
      free(each -> each.forgotten);
    }
  }

  /** Frees all unused matrices and returns their number. */
  int freeUnused() {
    return free(_ -> true);
  }

  private synchronized int free(Predicate<Resident> which) {
    int before = residents.size();
    residents
        .values()
        .removeIf(resident -> {
          boolean unused = resident.users == 0 && which.test(resident);
          if (unused) {
            resident.buffer.close();
          }
          return unused;
        });
    return before - residents.size();
  }

  /** Frees all matrices, none of which may be in use. */
  @Override
  public synchronized void close() {
    freeUnused();
  }
}
