package dev.athanor.service.model;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of stored models.
 *
 * @param dir Folder of this replica where models are kept and found at startup, as
 *     TENANT/NAME/VERSION/files; without authentication, the tenant is local. Empty to keep them in
 *     memory only.
 * @param versions Versions of a model that are kept. Storing another deletes the oldest.
 * @param cachePositions Positions in the key and value caches of a model, for all its sessions
 *     together. The caches are allocated with the first session and count toward the tenant's
 *     quota.
 */
public record ModelSettings(
    @DefaultValue("") String dir,
    @Min(1) @Max(1000) @DefaultValue("2") int versions,
    @Min(1) @DefaultValue("16384") int cachePositions) {}
