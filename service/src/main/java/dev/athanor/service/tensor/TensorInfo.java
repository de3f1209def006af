package dev.athanor.service.tensor;

import dev.athanor.ops.TensorType;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A resident tensor as it was when asked for.
 *
 * @param name a label, or the name that it is stored under
 * @param replicas the marks of the replicas that were given a copy when it was stored under its
 *     name; null if it has no name but a label
 * @param device on which it lies
 * @param version counts the writes in place, 1 at first; that of a stored tensor is greater than
 *     those that had its name before
 * @param expiresAt when it goes if nobody uses it; null when it stays until it is deleted
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
