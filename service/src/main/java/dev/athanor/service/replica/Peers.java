package dev.athanor.service.replica;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.replica.Membership.Members;
import dev.athanor.service.replica.ReplicaClient.Outgoing;
import dev.athanor.service.replica.ReplicaClient.Reply;
import dev.athanor.service.tensor.Handles;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The other replicas. While this one serves a request, it may send them requests of its own, one at
 * a time and with the credentials of the client. They may do no more than the client itself, and
 * they ask no further replicas.
 */
public final class Peers {

  /** The headers of a client's request that requests to other replicas repeat. */
  public static final List<String> CREDENTIALS =
      List.of("Authorization", "X-API-Key", "X-Priority");

  private final @Nullable ReplicaClient client;
  private final Handles handles;
  private final Membership membership;

  /**
   * @param client null if this replica knows no others
   * @param membership the replicas; none but this one if the client's credentials cannot be passed
   *     on
   */
  public Peers(@Nullable ReplicaClient client, Handles handles, Membership membership) {
    this.client = client;
    this.handles = handles;
    this.membership = membership;
  }

  /**
   * Returns the ids of all other replicas that exist, in the order in which they are asked; empty
   * if another replica forwarded the request.
   *
   * @throws Failure.Busy with {@code replica-unavailable} if not all are known
   */
  List<String> others(EntryRequest request) {
    var members = members(request);
    if (members.unknown() != null) {
      throw members.unknown();
    }
    return members.ids();
  }

  /** Returns the other replicas, beginning with the next one, so that each begins with another. */
  private Members members(EntryRequest request) {
    if (request.isForwarded()) {
      return new Members(List.of(), null);
    }
    var members = membership.members();
    var ids = new ArrayList<>(members.ids());
    int here = ids.indexOf(handles.replica());
    if (here >= 0) {
      Collections.rotate(ids, -here);
      ids.removeFirst();
    }
    return new Members(ids, members.unknown());
  }

  /** Returns the place of this replica among all, from 0 to 255. */
  int place() {
    return membership.place(handles.replica());
  }

  /** Returns the maximum number of replicas that a request can store copies on. */
  int maxCopies(EntryRequest request) {
    return request.isForwarded() ? 1 : maxReplicas();
  }

  /** Returns the maximum number of replicas; 1 if this one knows no others. */
  public int maxReplicas() {
    return membership.maxReplicas();
  }

  private String url(String id) {
    return Objects.requireNonNull(handles.url(id), "athanor.forward.url is set");
  }

  /**
   * A request to another replica.
   *
   * @param entry the client's request
   * @param target path and query
   * @param body null for none
   * @param length of the body in bytes; -1 if unknown
   * @param isCancellable whether the request ends when the client disconnects or its deadline
   *     passes
   */
  record PeerRequest(
      EntryRequest entry,
      String method,
      String target,
      @Nullable String contentType,
      @Nullable InputStream body,
      long length,
      boolean isCancellable) {

    /** A request without a body. */
    PeerRequest(EntryRequest entry, String method, String target, boolean isCancellable) {
      this(entry, method, target, null, null, 0, isCancellable);
    }
  }

  /**
   * Sends a request to a replica and returns its response, whatever the status.
   *
   * @throws Failure.Busy with {@code replica-unavailable} or {@code queue-full} if there is none
   */
  Reply ask(String id, PeerRequest request) throws IOException {
    var context = request.entry().context();
    return Objects.requireNonNull(client, "only configured replicas are asked")
        .ask(
            new Outgoing(
                context.account(),
                request.method(),
                request.target(),
                builder -> headers(request, builder),
                id,
                url(id),
                request.body(),
                request.length(),
                request.isCancellable() ? context.deadline() : Deadline.none(),
                request.isCancellable() ? context.clientHasGone() : () -> false));
  }

  /**
   * Sends JSON to a replica, even if the client disconnects.
   *
   * @return why the replica did not do what it says
   */
  Optional<Failure> tell(EntryRequest entry, String id, String target, ByteArrayOutputStream json)
      throws IOException {
    try {
      var reply =
          ask(
              id,
              new PeerRequest(
                  entry,
                  "PUT",
                  target,
                  "application/json",
                  new ByteArrayInputStream(json.toByteArray()),
                  json.size(),
                  false));
      return reply.status() == 204 ? Optional.empty() : Optional.of(PeerReplies.refusal(id, reply));
    } catch (Failure e) {
      return Optional.of(e);
    }
  }

  private static void headers(PeerRequest request, HttpRequest.Builder builder) {
    request.entry().credentials().forEach(builder::setHeader);
    if (request.contentType() != null) {
      builder.setHeader("Content-Type", request.contentType());
    }
  }

  /**
   * A replica with a copy of a tensor or a model.
   *
   * @param version of a tensor; empty for a model
   */
  record Holder(String id, OptionalLong version) {}

  /**
   * Returns the failure of a request with a name that this replica lacks: {@link
   * Failure.WrongReplica} if another replica has it, else the given failure.
   *
   * @throws Failure.Busy with {@code replica-unavailable} if a replica that does not answer may
   *     have it
   */
  public Failure locate(EntryRequest request, Failure.UnknownName failure) throws IOException {
    var holder = find(request, failure.path());
    if (holder.isEmpty()) {
      return failure;
    }
    var id = holder.get().id();
    var located = Failure.WrongReplica.of(failure.field(), failure.name(), id, handles.url(id));
    return failure.step() == null ? located : located.in(failure.step());
  }

  /**
   * Finds a replica that has what a path describes.
   *
   * @return empty if none has
   * @throws Failure.Busy with {@code replica-unavailable} if none of those that answer has, but one
   *     that does not answer may have
   */
  Optional<Holder> find(EntryRequest request, String path) throws IOException {
    var members = members(request);
    var unavailable = members.unknown();
    for (var id : members.ids()) {
      try {
        var reply = ask(id, new PeerRequest(request, "HEAD", path, true));
        if (reply.status() == 200) {
          return Optional.of(new Holder(id, version(reply.etag())));
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

  /** Returns the version in the entity tag of a description, such as {@code "7"}. */
  static OptionalLong version(String etag) {
    return etag.length() < 2
        ? OptionalLong.empty()
        : Tensors.integer(etag.substring(1, etag.length() - 1));
  }
}
