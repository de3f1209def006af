package dev.athanor.service.forward;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.forward.Forwarder.Outgoing;
import dev.athanor.service.tensor.Handles;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The other replicas. While this one serves a request, it may send them requests of its own, one at
 * a time and with the credentials of the caller. They may do no more than the caller itself, and
 * they ask no further replicas.
 */
public final class Peers {

  private static final List<String> CREDENTIALS =
      List.of("Authorization", "X-API-Key", "X-Priority");

  private final Forwarder forwarder;
  private final Handles handles;
  private final List<String> marks;
  private final int place;

  /**
   * @param all the marks of all replicas, this one among them
   */
  Peers(Forwarder forwarder, Handles handles, List<String> all) {
    this.forwarder = forwarder;
    this.handles = handles;
    place = all.indexOf(handles.replica());
    var others = new ArrayList<>(all.subList(place + 1, all.size()));
    others.addAll(all.subList(0, place)); // so that each replica asks another one first
    marks = List.copyOf(others);
  }

  /** Their marks, in the order in which they are asked. */
  public List<String> marks() {
    return marks;
  }

  /** The place of this replica among all, from 0. */
  public int place() {
    return place;
  }

  /** Returns whether another replica has sent a request, on behalf of whoever asked that one. */
  public static boolean isForwarded(HttpServletRequest request) {
    return request.getHeader(ForwardedHeaders.FORWARDED) != null;
  }

  /** Returns whether a replica has an address. Where pods come and go, some of them have none. */
  public boolean exists(String mark) {
    try {
      var _ = InetAddress.getByName(URI.create(url(mark)).getHost());
      return true;
    } catch (UnknownHostException _) {
      return false;
    }
  }

  private String url(String mark) {
    return Objects.requireNonNull(handles.url(mark), "athanor.forward.url is set");
  }

  /**
   * A request to another replica.
   *
   * @param caller for whom it is sent
   * @param target path and query
   * @param body null for none
   * @param length of the body in bytes
   * @param isCancellable whether it ends when the caller hangs up
   */
  public record Request(
      HttpServletRequest caller,
      String method,
      String target,
      @Nullable String contentType,
      @Nullable InputStream body,
      long length,
      Deadline deadline,
      boolean isCancellable) {

    /** A request without a body, which ends when the caller hangs up. */
    public Request(HttpServletRequest caller, String method, String target, Deadline deadline) {
      this(caller, method, target, null, null, 0, deadline, true);
    }
  }

  /**
   * What a replica answers.
   *
   * @param etag empty for none
   */
  public record Reply(int status, String body, String etag) {}

  /**
   * Sends a request to a replica and returns its answer, whatever the status.
   *
   * @throws Failure.Busy with {@code replica-unavailable} or {@code queue-full} if there is none
   */
  public Reply ask(String mark, Request request) throws IOException {
    var reply =
        forwarder.ask(
            new Outgoing(
                request.method(),
                request.target(),
                builder -> headers(request, builder),
                mark,
                url(mark),
                request.body(),
                request.length(),
                request.deadline(),
                request.isCancellable()));
    return new Reply(reply.status(), reply.body(), reply.etag());
  }

  private static void headers(Request request, HttpRequest.Builder builder) {
    for (var name : CREDENTIALS) {
      var value = request.caller().getHeader(name);
      if (value != null) {
        builder.setHeader(name, value);
      }
    }
    if (request.contentType() != null) {
      builder.setHeader("Content-Type", request.contentType());
    }
  }

  /**
   * A replica with a copy of a tensor.
   *
   * @param etag of the copy
   */
  public record Holder(String mark, String etag) {}

  /**
   * Finds a replica that has a tensor of a name.
   *
   * @return empty if none has
   * @throws Failure.Busy with {@code replica-unavailable} if none of those that answer has, but one
   *     that does not answer may have
   */
  public Optional<Holder> find(HttpServletRequest caller, String name, Deadline deadline)
      throws IOException {
    Failure unavailable = null;
    for (var mark : marks) {
      try {
        if (exists(mark)) {
          var reply = ask(mark, new Request(caller, "HEAD", "/tensors/" + name, deadline));
          if (reply.status() == 200) {
            return Optional.of(new Holder(mark, reply.etag()));
          }
        }
      } catch (Failure.Busy e) {
        if (e.code() != Code.REPLICA_UNAVAILABLE) {
          throw e;
        }
        unavailable = e;
      }
    }
    if (unavailable != null) {
      throw unavailable;
    }
    return Optional.empty();
  }
}
