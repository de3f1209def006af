package dev.athanor.service.tensor;

import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How much may be resident, and for how long.
 *
 * @param maxBytes the quota of bytes
 * @param maxCount the quota of tensors
 * @param lease how long a tensor lives after its last use when its creator says nothing
 * @param spillBytes host memory to which tensors that nobody uses may be moved when a device is
 *     full; 0 for none
 * @param tombstoneTtl how long deleted and expired handles are told from unknown ones
 */
public record TensorSettings(
    @Min(1) @DefaultValue("8589934592") long maxBytes,
    @Min(1) @DefaultValue("100000") int maxCount,
    @NotNull @DefaultValue("1h") Duration lease,
    @Min(0) @DefaultValue("0") long spillBytes,
    @NotNull @DefaultValue("10m") Duration tombstoneTtl) {}
