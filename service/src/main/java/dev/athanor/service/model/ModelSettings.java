package dev.athanor.service.model;

import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of stored models.
 *
 * @param cachePositions Positions in the key and value caches of a model, for all its sessions
 *     together. The caches are allocated with the first session and count toward the tenant's
 *     quota.
 */
public record ModelSettings(@Min(1) @DefaultValue("16384") int cachePositions) {}
