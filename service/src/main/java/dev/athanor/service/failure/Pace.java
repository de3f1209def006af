package dev.athanor.service.failure;

import dev.athanor.service.failure.Failure.Code;
import java.time.Duration;

/**
 * How slowly a client may send. A client that sends a byte now and then never falls silent, and
 * would keep what was set aside for it as long as it likes; so it is waited for twice as long as
 * one that is silent, and once more for every 16 KiB that have come.
 */
public final class Pace {

  private static final int BYTES = 16 << 10;

  private final Duration silence;
  private long waited;
  private long came;

  /**
   * @param silence how long a client may send nothing
   */
  public Pace(Duration silence) {
    this.silence = silence;
  }

  /**
   * Some bytes have come.
   *
   * @param nanos how long they were waited for
   * @throws Failure.Refused with {@code deadline-exceeded} when all have come too slowly
   */
  public void came(long bytes, long nanos) {
    came += bytes;
    waited += nanos;
    if (waited / (2 + came / BYTES) > silence.toNanos()) {
      throw new Failure.Refused(
          Code.DEADLINE_EXCEEDED,
          "%d bytes came in %d ms, which is too slow; the request was given up"
              .formatted(came, Duration.ofNanos(waited).toMillis()));
    }
  }
}
