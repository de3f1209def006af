package dev.athanor.service.failure;

import dev.athanor.service.failure.Failure.Code;
import java.time.Duration;

/**
 * Enforces a minimum rate at which a client must send. Without it, a client that sends a byte from
 * time to time never runs into the read timeout and keeps its resources. The total wait is limited
 * to two read timeouts plus one for every 16 KiB received.
 */
public final class MinimumRate {

  private static final int BYTES = 16 << 10;

  private final Duration silence;
  private long waited;
  private long received;

  /**
   * @param silence the read timeout
   */
  public MinimumRate(Duration silence) {
    this.silence = silence;
  }

  /**
   * Records received bytes.
   *
   * @param nanos the time spent waiting for them
   * @throws Failure.Refused with {@code deadline-exceeded} if the client is too slow
   */
  public void received(long bytes, long nanos) {
    received += bytes;
    waited += nanos;
    if (waited / (2 + received / BYTES) > silence.toNanos()) {
      throw new Failure.Refused(
          Code.DEADLINE_EXCEEDED,
          "The client sent only %d bytes in %d ms; the request was aborted"
              .formatted(received, Duration.ofNanos(waited).toMillis()));
    }
  }
}
