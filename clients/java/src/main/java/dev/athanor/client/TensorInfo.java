package dev.athanor.client;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The description of a tensor on a device.
 *
 * @param name for people; need not be unique
 * @param scope the group of tensors that it can be deleted with
 * @param bytes the size of its values
 * @param version counts the writes in place; 1 at first
 * @param expiresAt when the lease ends if nobody uses the tensor; empty if it has no lease
 */
public record TensorInfo(
    String handle,
    Optional<String> name,
    Optional<String> scope,
    DType dtype,
    List<Long> shape,
    long bytes,
    String device,
    long version,
    Optional<Instant> createdAt,
    Optional<Instant> expiresAt) {
  public TensorInfo {
    shape = List.copyOf(shape);
  }
}
