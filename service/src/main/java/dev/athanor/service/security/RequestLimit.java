package dev.athanor.service.security;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.SharedLimit;
import dev.athanor.service.schedule.TenantShares;
import java.time.Duration;

/**
 * The limit of requests in progress, over REST and gRPC. Tenants share it, so that slow requests of
 * one leave connections to the others.
 */
public final class RequestLimit {

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final SharedLimit limit;

  /**
   * @param connections the maximum number of REST connections
   */
  public RequestLimit(int connections, TenantShares shares) {
    limit = new SharedLimit(connections, shares);
  }

  /**
   * Counts a request until {@link #end}.
   *
   * @throws Failure.Busy with {@code queue-full} if its tenant has too many; it is not counted then
   */
  public void begin(Caller caller) {
    if (!limit.tryAdd(caller.account(), 1)) {
      throw new Failure.Busy(
          Code.QUEUE_FULL,
          "Too many requests: %d of %d are in progress (server.tomcat.max-connections), %d of them for this tenant (athanor.quota.share). Retry after 1 s."
              .formatted(limit.used(), limit.total(), limit.held(caller.account())),
          RETRY_AFTER);
    }
  }

  /** Ends a request that {@link #begin} counted. */
  public void end(Caller caller) {
    limit.remove(caller.account(), 1);
  }
}
