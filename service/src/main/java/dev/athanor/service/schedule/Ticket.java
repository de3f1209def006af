package dev.athanor.service.schedule;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A unit of work to be scheduled on a stream of a device.
 *
 * @param id unique among open tickets
 * @param tenant the tenant; tenants share device time by their weights
 * @param band the priority band among the tickets of its tenant, from 1, the highest; {@link
 *     #MIDDLE} for the default
 * @param deadline the deadline in nanoseconds, on the clock of the events; {@link #NEVER} for none
 * @param work the kind of work, for which estimates are corrected together; any value with {@code
 *     equals}
 * @param cost the estimated run time in nanoseconds; at least 1
 * @param hostBytes the host memory that it holds while it waits, in bytes
 * @param device the number of the device that holds its tensors
 * @param isContinuation whether it continues a transfer that has begun; it is then rejected neither
 *     for a full queue nor for draining
 * @param batch the batch that it can join; null if it must run alone
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

  /** The default band. */
  public static final int MIDDLE = 0;

  /** No deadline. */
  public static final long NEVER = Long.MAX_VALUE;

  /**
   * The batch of a ticket.
   *
   * @param key the batch key; tickets with equal keys can share a launch; any value with {@code
   *     equals}
   * @param rows the rows that the ticket adds to the launch; at least 1
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

  static void atLeast(long min, long given, String what) {
    if (given < min) {
      throw new IllegalArgumentException(
          "%s must be at least %d, got %d".formatted(what, min, given));
    }
  }
}
