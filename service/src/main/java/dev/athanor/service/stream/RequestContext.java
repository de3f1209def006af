package dev.athanor.service.stream;

import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.tensor.Tenant;
import java.util.function.BooleanSupplier;

/**
 * For whom a request is served, how urgently, and for how long.
 *
 * @param priority 1 first, {@link #LAST_PRIORITY} last; {@link Ticket#MIDDLE} where the client does
 *     not say
 * @param clientHasGone whether nobody waits for the answer any more; asked while it is waited for,
 *     by one thread
 * @param memory for the tensors that come and go with the request; whoever serves it closes it
 */
public record RequestContext(
    Tenant tenant,
    int priority,
    Deadline deadline,
    BooleanSupplier clientHasGone,
    RequestMemory memory) {

  public static final int LAST_PRIORITY = 5;

  /** The service's own work. */
  public static final RequestContext OWN = new RequestContext(Tenant.LOCAL, Deadline.none());

  /** Usual terms for a client that stays. */
  public RequestContext(Tenant tenant, Deadline deadline) {
    this(tenant, Ticket.MIDDLE, deadline, () -> false);
  }

  /** Terms of a request whose tensors come and go on the heap. */
  public RequestContext(
      Tenant tenant, int priority, Deadline deadline, BooleanSupplier clientHasGone) {
    this(tenant, priority, deadline, clientHasGone, RequestMemory.HEAP);
  }
}
