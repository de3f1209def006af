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
 * Matrices in a device's memory. Each is uploaded once, shared by all tasks, and freed when no task
 * has used it for a while.
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

    /** Counts uses, so that a timer can tell whether there was another one since it started. */
    long uses;

    Resident(Buffer buffer) {
      this.buffer = buffer;
    }
  }

  /**
   * @param idle how long a matrix stays that no task uses
   */
  ResidentMatrices(Device device, Duration idle) {
    this.device = device;
    this.idle = idle;
  }

  /**
   * Returns a matrix on the device, after uploading it if it is not there.
   *
   * @param matrix called for the upload only
   * @return its memory, until {@link #release}
   * @throws DeviceException.OutOfMemory if the device has no room, even without the matrices that
   *     no task uses
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
   * Allocates device memory, if necessary in place of matrices that no task uses.
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

  /** Frees the matrices that no task uses, and returns how many there were. */
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

  /** Frees all matrices. No task may use one. */
  @Override
  public synchronized void close() {
    freeUnused();
  }
}
