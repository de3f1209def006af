package dev.athanor.service.grpc;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Limits of the gRPC interface, besides those under {@code spring.grpc.server}.
 *
 * @param maxTensorBytes Largest tensor that a client may send in chunks, in bytes.
 * @param idleTimeout How long a stream may wait for its client to send or receive a message before
 *     it is canceled.
 * @param maxConnections Maximum number of connections; further connections are closed at once. By
 *     default one per MiB of heap, at most 4096, and at most a quarter of the files that the
 *     process may open.
 * @param maxConcurrentCalls Maximum number of concurrent calls on one connection.
 * @param maxResets Number of calls that a connection may cancel within ten seconds before it is
 *     closed.
 */
public record GrpcSettings(
    @Min(1024) @Max(Integer.MAX_VALUE - 1024) @DefaultValue("268435456") long maxTensorBytes,
    @NotNull @DefaultValue("60s") Duration idleTimeout,
    @Min(1) @Nullable Integer maxConnections,
    @Min(1) @DefaultValue("256") int maxConcurrentCalls,
    @Min(1) @DefaultValue("5000") int maxResets) {

  /** Maximum size of the metadata of a call in bytes. */
  static final long MAX_METADATA = DataSize.ofKilobytes(16).toBytes();

  /** Maximum size of a chunk in bytes. */
  static final int MAX_CHUNK = Math.toIntExact(DataSize.ofMegabytes(1).toBytes());
}
