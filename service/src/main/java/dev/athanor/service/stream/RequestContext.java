package dev.athanor.service.stream;

import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.tensor.Tenant;
import java.util.function.BooleanSupplier;

/**
 * For whom a request is served, how urgently, and for how long.
 *
 * @param priority 1 first, {@link #LAST_PRIORITY} last; {@link Ticket#MIDDLE} where the client does
 *     not say
 * @param mayPrioritize whether the caller may ask for more than the {@link #NORMAL_PRIORITY}
 * @param clientHasGone whether nobody waits for the answer any more; asked while it is waited for,
 *     by one thread
 * @param memory for the tensors that come and go with the request; whoever serves it closes it
 */
public record RequestContext(
    Tenant tenant,
    int priority,
    boolean mayPrioritize,
    Deadline deadline,
    BooleanSupplier clientHasGone,
    RequestMemory memory) {

  public static final int LAST_PRIORITY = 5;

  /** The priority of a request whose client names none. */
  private static final int NORMAL_PRIORITY = (1 + LAST_PRIORITY) / 2;

  /** The service's own work. */
  public static final RequestContext OWN = new RequestContext(Tenant.LOCAL, Deadline.none());

  /** Usual terms for a client that stays. */
  public RequestContext(Tenant tenant, Deadline deadline) {
    this(tenant, Ticket.MIDDLE, deadline, () -> false);
  }

  /** Terms of a request whose tensors come and go on the heap. */
  public RequestContext(
      Tenant tenant, int priority, Deadline deadline, BooleanSupplier clientHasGone) {
    this(tenant, priority, true, deadline, clientHasGone, RequestMemory.HEAP);
  }

  /**
   * Returns this context with the priority that the client asks for.
   *
   * @param field where the request names the priority
   * @param wanted 1 to {@link #LAST_PRIORITY}
   * @throws Failure.Refused with {@code forbidden} if the priority is above the normal one and the
   *     caller lacks the scope for that
   */
  public RequestContext withPriority(String field, int wanted) {
    if (wanted < NORMAL_PRIORITY && !mayPrioritize) {
      throw new Failure.Refused(
          Code.FORBIDDEN,
          field,
          "%s is %d; a priority above the normal %d needs the scope priority, which the caller lacks"
              .formatted(field, wanted, NORMAL_PRIORITY));
    }
    return new RequestContext(tenant, wanted, mayPrioritize, deadline, clientHasGone, memory);
  }

  /** Returns this context with a deadline. */
  public RequestContext withDeadline(Deadline wanted) {
    return new RequestContext(tenant, priority, mayPrioritize, wanted, clientHasGone, memory);
  }
}
