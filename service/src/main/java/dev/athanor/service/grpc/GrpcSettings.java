package dev.athanor.service.grpc;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Limits of the gRPC interface, besides those under {@code spring.grpc.server}.
 *
 * @param maxTensorBytes the largest tensor that may be sent in chunks
 * @param idleTimeout how long a stream may wait for its client, to send or to take
 * @param maxConcurrentCalls how many calls a connection may have at a time
 * @param maxResets how many calls a connection may cancel in ten seconds before it is closed
 */
public record GrpcSettings(
    @Min(1024) @Max(Integer.MAX_VALUE - 1024) @DefaultValue("268435456") long maxTensorBytes,
    @NotNull @DefaultValue("60s") Duration idleTimeout,
    @Min(1) @DefaultValue("256") int maxConcurrentCalls,
    @Min(1) @DefaultValue("5000") int maxResets) {

  /** The largest chunk of a stream. */
  static final int LARGEST_CHUNK = Math.toIntExact(DataSize.ofMegabytes(1).toBytes());
}
