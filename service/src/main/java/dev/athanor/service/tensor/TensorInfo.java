package dev.athanor.service.tensor;

import dev.athanor.ops.TensorType;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The description of a resident tensor at one point in time.
 *
 * @param device the id of its device
 * @param version starts at 1 and increases with every write
 * @param expiresAt when it expires unless it is used; null if it stays until it is deleted
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
