package dev.athanor.service.tensor;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a client may say of a tensor that it creates.
 *
 * @param name for people; need not be unique
 * @param scope tensors of one scope can be deleted together
 * @param lease how long it lives after its last use; zero until it is deleted, null for the default
 * @param device on which it shall lie; null where it lies best
 */
public record TensorOptions(
    @Nullable String name,
    @Nullable String scope,
    @Nullable Duration lease,
    @Nullable String device) {

  public static final TensorOptions NONE = new TensorOptions(null, null, null, null);
}
