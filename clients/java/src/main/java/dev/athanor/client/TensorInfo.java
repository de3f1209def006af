package dev.athanor.client;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The description of a tensor on a device.
 *
 * @param name the name under which the tensor is stored or, if it has no replicas, a label
 * @param replicas the ids of the replicas that received a copy when the tensor was stored under its
 *     name; empty for other tensors
 * @param scope a group of tensors that can be deleted together
 * @param bytes the size of the values
 * @param version starts at 1 and increments with each in-place write; increases with each tensor
 *     stored under the same name
 * @param expiresAt the end of the lease unless the tensor is used; empty if it has no lease
 */
public record TensorInfo(
    String handle,
    Optional<String> name,
    List<String> replicas,
    Optional<String> scope,
    DType dtype,
    List<Long> shape,
    long bytes,
    String device,
    long version,
    Optional<Instant> createdAt,
    Optional<Instant> expiresAt) {
  public TensorInfo {
    replicas = List.copyOf(replicas);
    shape = List.copyOf(shape);
  }

  /** Returns a copy with another handle, such as a name that every replica knows. */
  TensorInfo withHandle(String other) {
    return new TensorInfo(
        other, name, replicas, scope, dtype, shape, bytes, device, version, createdAt, expiresAt);
  }
}
