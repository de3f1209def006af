package dev.athanor.client;

import java.time.Instant;
import java.util.Optional;

/**
 * A session, which keeps the state of a model between calls.
 *
 * @param id the ID, such as {@code s_1f}
 * @param version the version of the model
 * @param length the number of positions that the session contains
 * @param bytes the memory of its state; sessions may share some
 * @param expires the end of the lease, which each call renews; empty if the session stays until it
 *     is deleted
 */
public record SessionInfo(
    String id, String model, long version, int length, long bytes, Optional<Instant> expires) {}
