package dev.athanor.service.replica;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.stream.RequestContext;
import java.util.Map;

/**
 * A client's request at its entry replica, which may send requests to other replicas to serve it.
 *
 * @param credentials the headers that authenticate the client, and its priority
 * @param isForwarded whether another replica sent the request; it is served without others then
 */
public record EntryRequest(
    RequestContext context, Map<String, String> credentials, boolean isForwarded) {

  public EntryRequest {
    credentials = Map.copyOf(credentials);
  }

  /** Returns this request with a deadline. */
  public EntryRequest withDeadline(Deadline deadline) {
    return new EntryRequest(context.withDeadline(deadline), credentials, isForwarded);
  }
}
