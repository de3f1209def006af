package dev.athanor.service.stream;

import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.tensor.Tenant;
import java.util.function.BooleanSupplier;

/**
 * The context of a request: tenant, priority, deadline, cancellation and memory.
 *
 * @param account who is charged for shared resources: the tenant or, without authentication, the
 *     client's address
 * @param priority from 1, the highest, to {@link #LAST_PRIORITY}; {@link Ticket#MIDDLE} by default
 * @param mayPrioritize whether the caller may request a higher priority than {@link
 *     #NORMAL_PRIORITY}
 * @param clientHasGone whether the client has disconnected; polled by one thread at a time while a
 *     call waits
 * @param memory host memory for inline tensors; the request handler closes it
 * @param rowInvariant whether the bits of a row must not depend on the rows that come with it
 */
public record RequestContext(
    Tenant tenant,
    String account,
    int priority,
    boolean mayPrioritize,
    Deadline deadline,
    BooleanSupplier clientHasGone,
    RequestMemory memory,
    boolean rowInvariant) {

  public static final int LAST_PRIORITY = 5;

  /** The priority of a request whose client names none. */
  private static final int NORMAL_PRIORITY = (1 + LAST_PRIORITY) / 2;

  /** The context of the service's own work. */
  public static final RequestContext OWN = new RequestContext(Tenant.LOCAL, Deadline.none());

  /** Creates a context of normal priority for a client that never disconnects. */
  public RequestContext(Tenant tenant, Deadline deadline) {
    this(tenant, Ticket.MIDDLE, deadline, () -> false);
  }

  /** Creates a context that keeps inline tensors on the heap. */
  public RequestContext(
      Tenant tenant, int priority, Deadline deadline, BooleanSupplier clientHasGone) {
    this(tenant, tenant.name(), priority, true, deadline, clientHasGone, RequestMemory.HEAP, false);
  }

  /**
   * Returns this context with another priority.
   *
   * @param field the path of the priority in the request
   * @param wanted 1 to {@link #LAST_PRIORITY}
   * @throws Failure.Refused with {@code forbidden} if the priority is above the normal one and the
   *     caller lacks the scope for that
   */
  public RequestContext withPriority(String field, int wanted) {
    if (wanted < NORMAL_PRIORITY && !mayPrioritize) {
      throw new Failure.Refused(
          Code.FORBIDDEN,
          field,
          "%s is %d; a priority higher than %d requires the scope \"priority\", which the caller lacks"
              .formatted(field, wanted, NORMAL_PRIORITY));
    }
    return new RequestContext(
        tenant, account, wanted, mayPrioritize, deadline, clientHasGone, memory, rowInvariant);
  }

  /** Returns this context with a deadline. */
  public RequestContext withDeadline(Deadline wanted) {
    return new RequestContext(
        tenant, account, priority, mayPrioritize, wanted, clientHasGone, memory, rowInvariant);
  }

  /**
   * Returns the context of a run that several requests share, of which this is the first: none of
   * them alone can end it, and rows do not depend on each other.
   *
   * @param highest the highest priority of the requests
   */
  public RequestContext shared(int highest) {
    return new RequestContext(
        tenant,
        account,
        highest,
        mayPrioritize,
        Deadline.none(),
        () -> false,
        RequestMemory.HEAP,
        true);
  }

  /** Returns this context with or without row invariance. */
  public RequestContext withRowInvariance(boolean wanted) {
    return new RequestContext(
        tenant, account, priority, mayPrioritize, deadline, clientHasGone, memory, wanted);
  }
}
