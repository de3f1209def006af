package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.ops.TensorType;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import org.jspecify.annotations.Nullable;

/**
 * The state of a tensor; guarded by the monitor of the {@link TensorStore} except {@link
 * #contents}.
 */
final class TensorEntry {
  final TenantTensors owner;
  final String handle;
  final TensorOptions options;
  final TensorType type;
  final DeviceStorage storage;
  final long sequence;
  final Instant createdAt;

  /** Held while the contents move between device and host. */
  final ReentrantLock moving = new ReentrantLock();

  /** The contents: exactly one of these is not null. */
  @Nullable Buffer buffer;

  @Nullable HostMemory saved;

  /** Held while the contents are read or written on the device. */
  final StampedLock contents = new StampedLock();

  Duration lease;
  Instant lastUse;
  long version = 1;

  /** Under which it is stored, or a label. */
  @Nullable String name;

  /** What its copies have in common if it is stored under its name. */
  NamedTensors.@Nullable Copy copy;

  int pins;
  boolean gone;

  /** The snapshot of the current version, if it has readers. */
  Snapshot.@Nullable Shared snapshot;

  TensorEntry(
      TenantTensors owner,
      String handle,
      TensorOptions options,
      TensorType type,
      DeviceStorage storage,
      Buffer buffer,
      long sequence,
      Instant now,
      Duration lease) {
    this.owner = owner;
    this.handle = handle;
    this.options = options;
    this.name = options.name();
    this.type = type;
    this.storage = storage;
    this.buffer = buffer;
    this.sequence = sequence;
    this.createdAt = now;
    this.lastUse = now;
    this.lease = lease;
  }

  Buffer resident() {
    return Objects.requireNonNull(buffer, "a pinned tensor is on the device");
  }

  boolean hasExpired(Instant now) {
    return pins == 0 && !lease.isZero() && !lastUse.plus(lease).isAfter(now);
  }

  TensorInfo info() {
    return new TensorInfo(
        handle,
        name,
        copy == null ? null : copy.replicas(),
        options.scope(),
        type,
        storage.id(),
        version,
        createdAt,
        lease.isZero() ? null : lastUse.plus(lease));
  }
}
