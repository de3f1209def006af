package dev.athanor.service.tensor;

import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of resident tensors. The quotas apply to each tenant.
 *
 * @param maxBytes Quota of each tenant: bytes of all its resident tensors.
 * @param maxCount Quota of each tenant: number of its resident tensors.
 * @param lease How long a tensor lives after its last use, unless its creator sets a lease.
 * @param spillBytes Host memory for tensors that are moved off full devices while they are unused,
 *     in bytes, for all devices together. 0 disables spilling.
 * @param tombstoneTtl How long the handles of deleted and expired tensors are remembered: using an
 *     expired one fails with expired-handle, and deleting one again succeeds.
 */
public record TensorSettings(
    @Min(1) @DefaultValue("8589934592") long maxBytes,
    @Min(1) @DefaultValue("100000") int maxCount,
    @NotNull @DefaultValue("1h") Duration lease,
    @Min(0) @DefaultValue("0") long spillBytes,
    @NotNull @DefaultValue("10m") Duration tombstoneTtl) {}
