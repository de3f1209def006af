package dev.athanor.service.schedule;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A piece of work that asks for a turn on a stream of a device.
 *
 * @param id no other ticket under way has it
 * @param tenant for whom; tenants of one band get equal shares of device time
 * @param band its priority, 1 first; {@link #MIDDLE} for the one in the middle
 * @param deadline when it must be done, on the clock of the events, in nanoseconds; {@link #NEVER}
 *     for none
 * @param work what it does, so that estimates of the same work are corrected by how long it took:
 *     any value with {@code equals}
 * @param cost the estimate of how long it keeps a stream, in nanoseconds; at least 1
 * @param hostBytes the host memory that it holds while it waits
 * @param device the device on which it runs, since its tensors lie there; from 0
 * @param isContinuation whether it goes on with something of which a part is done, and so is refused
 *     neither for want of room nor because the service is about to end
 * @param batch with whom it can be run as one launch; null if only alone
 */
public record Ticket(
    long id,
    String tenant,
    int band,
    long deadline,
    Object work,
    long cost,
    long hostBytes,
    int device,
    boolean isContinuation,
    @Nullable Batch batch) {

  /** The band in the middle. */
  public static final int MIDDLE = 0;

  /** No deadline. */
  public static final long NEVER = Long.MAX_VALUE;

  /**
   * What may be run as one launch.
   *
   * @param key tickets with equal keys may be run together: any value with {@code equals}
   * @param rows what the ticket adds to the launch; at least 1
   */
  public record Batch(Object key, long rows) {
    public Batch {
      Objects.requireNonNull(key, "key");
      atLeast(1, rows, "a ticket's rows");
    }
  }

  public Ticket {
    Objects.requireNonNull(tenant, "tenant");
    Objects.requireNonNull(work, "work");
    atLeast(0, band, "a ticket's band");
    atLeast(0, deadline, "a ticket's deadline");
    atLeast(1, cost, "a ticket's cost");
    atLeast(0, hostBytes, "a ticket's host bytes");
    atLeast(0, device, "a ticket's device");
  }

  static void atLeast(long least, long given, String what) {
    if (given < least) {
      throw new IllegalArgumentException(
          "%s must be at least %d, got %d".formatted(what, least, given));
    }
  }
}
