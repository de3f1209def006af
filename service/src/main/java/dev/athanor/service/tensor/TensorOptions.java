package dev.athanor.service.tensor;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Client options for a new tensor.
 *
 * @param name a display name; need not be unique
 * @param scope a scope, whose tensors can be deleted together
 * @param lease how long the tensor lives after its last use; zero for unlimited, null for the
 *     default
 * @param device the id of the device; null to let the service choose
 */
public record TensorOptions(
    @Nullable String name,
    @Nullable String scope,
    @Nullable Duration lease,
    @Nullable String device) {

  public static final TensorOptions NONE = new TensorOptions(null, null, null, null);
}
