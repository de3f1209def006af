package dev.athanor.service.tensor;

import dev.athanor.ops.TensorType;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The description of a resident tensor at one point in time.
 *
 * @param name a label, or the name that it is stored under
 * @param replicas the ids of the replicas that got a copy when it was stored under its name; null
 *     if it has only a label
 * @param device the id of its device
 * @param version starts at 1 and increases with every write; the version of a named tensor is
 *     greater than those that had the name before
 * @param expiresAt when it expires unless it is used; null if it stays until it is deleted
 */
public record TensorInfo(
    String handle,
    @Nullable String name,
    @Nullable List<String> replicas,
    @Nullable String scope,
    TensorType type,
    String device,
    long version,
    Instant createdAt,
    @Nullable Instant expiresAt) {}
