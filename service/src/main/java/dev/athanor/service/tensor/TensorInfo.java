package dev.athanor.service.tensor;

import dev.athanor.ops.TensorType;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A resident tensor as it was when asked for.
 *
 * @param device on which it lies
 * @param version counts the writes in place; 1 at first
 * @param expiresAt when it goes if nobody uses it; null when it stays until it is deleted
 */
public record TensorInfo(
    String handle,
    @Nullable String name,
    @Nullable String scope,
    TensorType type,
    String device,
    long version,
    Instant createdAt,
    @Nullable Instant expiresAt) {}
