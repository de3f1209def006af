package dev.athanor.client;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The description of a tensor on a device.
 *
 * @param name the name that the tensor is stored under or, if it has no replicas, a label
 * @param replicas the marks of the replicas that got a copy when it was stored under its name;
 *     empty for a tensor without a name
 * @param scope the group of tensors that it can be deleted with
 * @param bytes the size of its values
 * @param version counts the writes in place, 1 at first; greater for each tensor that is stored
 *     under a name
 * @param expiresAt when the lease ends if nobody uses the tensor; empty if it has no lease
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

  /** The same tensor by its name, which every replica knows. */
  TensorInfo withHandle(String other) {
    return new TensorInfo(
        other, name, replicas, scope, dtype, shape, bytes, device, version, createdAt, expiresAt);
  }
}
