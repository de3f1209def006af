package dev.athanor.service.rest.tensors;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.forward.Forwarding;
import dev.athanor.service.forward.Peers;
import dev.athanor.service.forward.Peers.Holder;
import dev.athanor.service.forward.Peers.Reply;
import dev.athanor.service.rest.http.Requests;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.NamedTensors.Copy;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import jakarta.servlet.http.HttpServletRequest;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URLEncoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.stereotype.Component;
import tools.jackson.core.JsonToken;

/**
 * Stores tensors under names on several replicas, in two phases: the tensor is uploaded to each
 * without its name, and when all have it, each gives it the name. What fails before the second
 * phase has changed nothing (docs/decisions/018-named-tensors.md).
 */
@Component
class Copies {

  /** The lease of a tensor that waits for its name, which nobody may give it any more. */
  static final Duration STAGED = Duration.ofMinutes(10);

  private final ObjectProvider<Forwarding> forwarding;
  private final Handles handles;
  private final TensorStore store;
  private final Transfers transfers;

  Copies(
      ObjectProvider<Forwarding> forwarding,
      Handles handles,
      TensorStore store,
      Transfers transfers) {
    this.forwarding = forwarding;
    this.handles = handles;
    this.store = store;
    this.transfers = transfers;
  }

  /** The other replicas; empty where they are not known, or one of them has sent the request. */
  private Optional<Peers> peers(HttpServletRequest request) {
    var configured = forwarding.getIfAvailable();
    return configured == null || Peers.isForwarded(request) ? Optional.empty() : configured.peers();
  }

  /** How many replicas a tensor can be stored on. */
  int most(HttpServletRequest request) {
    return 1 + peers(request).map(Peers::marks).map(List::size).orElse(0);
  }

  /** Finds another replica that has a tensor of a name. */
  Optional<Holder> find(HttpServletRequest request, String name, RequestContext terms)
      throws IOException {
    var peers = peers(request);
    return peers.isEmpty() ? Optional.empty() : peers.get().find(request, name, terms.deadline());
  }

  /**
   * How a tensor is to be stored.
   *
   * @param copies on so many replicas, this one included; 0 for all that there are
   * @param lease zero to keep it until it is deleted
   * @param options of the tensor before it has its name
   * @param precondition is given the version on this replica that is replaced, and may throw
   */
  record Order(
      String name,
      int copies,
      Duration lease,
      TensorOptions options,
      Consumer<OptionalLong> precondition) {

    boolean isForAll() {
      return copies == 0;
    }
  }

  /**
   * What was stored.
   *
   * @param unreachable the marks of replicas that could not be asked to drop or to take a copy
   */
  record Stored(TensorInfo info, List<String> unreachable) {}

  /**
   * Stores a tensor of this replica under a name, here and on other replicas, and drops older
   * copies elsewhere.
   *
   * @param staged its description, without a name yet; it is deleted if this fails
   * @throws Failure.Incomplete if not all copies could be made; it says what is where
   */
  Stored store(HttpServletRequest request, Order order, TensorInfo staged, RequestContext terms)
      throws IOException {
    var tensors = store.of(terms.tenant());
    boolean named = false;
    try {
      var peers = peers(request);
      if (peers.isEmpty()) {
        var copy =
            new Copy(
                tensors.named().nextVersion(order.name, 0),
                List.of(handles.replica()),
                order.lease);
        var info = tensors.named().put(order.name, staged.handle(), copy, order.precondition);
        named = true;
        return new Stored(info, List.of());
      }
      var run = new Run(request, peers.get(), tensors, order, staged, terms);
      try {
        run.stage();
        run.name();
        named = true;
      } finally {
        if (!named) {
          run.abandon();
        }
      }
      return run.finish();
    } finally {
      if (!named) {
        tensors.delete(staged.handle());
      }
    }
  }

  /** The copies of one tensor. */
  private final class Run {
    private final HttpServletRequest request;
    private final Peers peers;
    private final TenantTensors tensors;
    private final Order order;
    private final TensorInfo tensor;
    private final RequestContext terms;
    private final Map<String, String> staged = new LinkedHashMap<>();
    private final Map<String, Failure> failed = new LinkedHashMap<>();
    private final List<String> unreachable = new ArrayList<>();
    private List<String> holders = List.of();
    private long version;

    Run(
        HttpServletRequest request,
        Peers peers,
        TenantTensors tensors,
        Order order,
        TensorInfo tensor,
        RequestContext terms) {
      this.request = request;
      this.peers = peers;
      this.tensors = tensors;
      this.order = order;
      this.tensor = tensor;
      this.terms = terms;
    }

    /**
     * Uploads the tensor to as many replicas as needed; the next one stands in for one that fails.
     */
    void stage() throws IOException {
      for (var mark : peers.marks()) {
        if (!order.isForAll() && staged.size() == order.copies - 1) {
          break;
        }
        if (!peers.exists(mark)) {
          unreachable.add(mark);
          continue;
        }
        try {
          staged.put(mark, upload(mark));
        } catch (Failure.TooLate e) {
          throw e;
        } catch (Failure e) {
          failed.put(mark, e);
          if (order.isForAll()) {
            break;
          }
        }
      }
      if (order.isForAll() ? !failed.isEmpty() : staged.size() < order.copies - 1) {
        unreachable.forEach(
            mark -> failed.put(mark, Failure.Busy.replicaUnavailable(mark, "has no address")));
        throw incomplete(
            "no replica has stored the tensor under the name %s, since too few could take a copy"
                .formatted(order.name),
            List.of());
      }
      failed.forEach((mark, failure) -> {
        if (failure.code() == Code.REPLICA_UNAVAILABLE) {
          unreachable.add(mark);
        }
      });
      failed.clear();
    }

    private String upload(String mark) throws IOException {
      var type = tensor.type();
      var shape =
          type.shape().extents().stream().map(String::valueOf).collect(Collectors.joining(","));
      var target =
          new StringBuilder("/tensors?dtype=%s&shape=%s".formatted(type.dtype().text(), shape))
              .append("&ttlSeconds=")
              .append(STAGED.toSeconds());
      if (order.options.scope() != null) {
        target.append("&scope=").append(URLEncoder.encode(order.options.scope(), UTF_8));
      }
      if (order.options.device() != null) {
        target.append("&device=").append(URLEncoder.encode(order.options.device(), UTF_8));
      }
      try (var reader = transfers.open(tensor.handle(), terms);
          var pieces = reader.pieces(0, type.bytes())) {
        var reply =
            peers.ask(
                mark,
                new Peers.Request(
                    request,
                    "POST",
                    target.toString(),
                    Media.OCTET_STREAM.text(),
                    new PieceStream(pieces),
                    type.bytes(),
                    terms.deadline(),
                    true));
        if (reply.status() != 201) {
          throw refusal(mark, reply);
        }
        var handle = members(reply).getOrDefault("handle", "");
        if (!Handles.isHandle(handle)) {
          throw Failure.Busy.replicaUnavailable(mark, "took the tensor but answered no handle");
        }
        return handle;
      }
    }

    /** Gives the tensor its name on this replica. From now on nothing can be taken back. */
    void name() {
      terms.deadline().check();
      version = tensors.named().nextVersion(order.name, peers.place());
      var all = new ArrayList<String>();
      all.add(handles.replica());
      all.addAll(staged.keySet());
      holders = List.copyOf(all);
      tensors
          .named()
          .put(
              order.name,
              tensor.handle(),
              new Copy(version, holders, order.lease),
              order.precondition);
    }

    /** Has the other replicas follow, even if the client hangs up: they should not differ. */
    Stored finish() throws IOException {
      var done = new ArrayList<String>();
      done.add(handles.replica());
      for (var mark : peers.marks()) {
        if (staged.containsKey(mark)) {
          tell(mark, staged.get(mark))
              .ifPresentOrElse(e -> failed.put(mark, e), () -> done.add(mark));
        } else if (!unreachable.contains(mark)) {
          if (!peers.exists(mark) || tell(mark, "").isPresent()) {
            unreachable.add(mark);
          }
        }
      }
      if (!failed.isEmpty()) {
        throw incomplete(
            "the tensor is stored under the name %s on %s, but not on all of %s; send the request again"
                .formatted(order.name, String.join(", ", done), String.join(", ", holders)),
            done);
      }
      return new Stored(tensors.describe(tensor.handle()), unreachable);
    }

    /**
     * Tells a replica the name of a tensor.
     *
     * @param handle empty if it has no copy, so that it drops an older one
     * @return why it did not do so
     */
    private Optional<Failure> tell(String mark, String handle) throws IOException {
      var body = new ByteArrayOutputStream();
      try (var out = Json.write(body)) {
        out.writeStartObject();
        if (!handle.isEmpty()) {
          out.writeStringProperty("handle", handle);
        }
        out.writeNumberProperty("version", version);
        out.writeNumberProperty("ttlSeconds", order.lease.toSeconds());
        out.writeName("replicas");
        out.writeStartArray();
        holders.forEach(out::writeString);
        out.writeEndArray();
        out.writeEndObject();
      }
      try {
        var reply =
            peers.ask(
                mark,
                new Peers.Request(
                    request,
                    "PUT",
                    "/tensors/" + order.name + "/copy",
                    Media.JSON.text(),
                    new ByteArrayInputStream(body.toByteArray()),
                    body.size(),
                    Deadline.none(),
                    false));
        return reply.status() == 204 ? Optional.empty() : Optional.of(refusal(mark, reply));
      } catch (Failure e) {
        return Optional.of(e);
      }
    }

    /** Deletes what was uploaded; what stays is freed when its lease ends. */
    void abandon() {
      staged.forEach((mark, handle) -> {
        try {
          var _ =
              peers.ask(
                  mark,
                  new Peers.Request(
                      request,
                      "DELETE",
                      "/tensors/" + handle,
                      null,
                      null,
                      0,
                      Deadline.none(),
                      false));
        } catch (IOException | Failure _) {
          // as the request itself has failed, which is what the client is told
        }
      });
    }

    private Failure incomplete(String what, List<String> done) {
      return Copies.incomplete(what, done, failed);
    }
  }

  /**
   * Deletes the copies of a tensor on all replicas.
   *
   * @throws Failure.Incomplete if a replica does not answer, which may still have one
   */
  void delete(HttpServletRequest request, String name) throws IOException {
    store.of(Requests.tenant(request)).named().remove(name, Long.MAX_VALUE);
    var peers = peers(request);
    if (peers.isEmpty()) {
      return;
    }
    var done = new ArrayList<String>();
    done.add(handles.replica());
    var failed = new LinkedHashMap<String, Failure>();
    var deadline = Requests.deadline(request);
    for (var mark : peers.get().marks()) {
      if (peers.get().exists(mark)) {
        try {
          var reply =
              peers
                  .get()
                  .ask(mark, new Peers.Request(request, "DELETE", "/tensors/" + name, deadline));
          if (reply.status() == 204) {
            done.add(mark);
          } else {
            failed.put(mark, refusal(mark, reply));
          }
        } catch (Failure e) {
          failed.put(mark, e);
        }
      }
    }
    if (!failed.isEmpty()) {
      throw incomplete(
          "the tensor of the name %s is deleted on %s, but others may still have it; send the request again"
              .formatted(name, String.join(", ", done)),
          done,
          failed);
    }
  }

  private static Failure incomplete(String what, List<String> done, Map<String, Failure> failed) {
    var reasons =
        failed.values().stream()
            .map(failure -> String.valueOf(failure.getMessage()))
            .collect(Collectors.joining("; "));
    return new Failure.Incomplete(
        failed.values().iterator().next().code(),
        what + ": " + reasons,
        done,
        List.copyOf(failed.keySet()));
  }

  /** The problem that a replica answers with. */
  private static Failure refusal(String mark, Reply reply) throws IOException {
    var problem = members(reply);
    var type = problem.getOrDefault("type", "");
    for (var code : Code.values()) {
      if (type.equals("urn:athanor:problem:" + code.text())) {
        return new Failure.Refused(
            code, "the replica %s: %s".formatted(mark, problem.getOrDefault("detail", "")));
      }
    }
    return Failure.Busy.replicaUnavailable(mark, "answered with status " + reply.status());
  }

  /** The members of an answer that are text. */
  private static Map<String, String> members(Reply reply) throws IOException {
    if (!reply.body().startsWith("{")) {
      return Map.of();
    }
    return Json.read(
        new ByteArrayInputStream(reply.body().getBytes(UTF_8)),
        parser -> {
          var members = new LinkedHashMap<String, String>();
          while (parser.nextToken() != JsonToken.END_OBJECT) {
            var name = parser.currentName();
            if (parser.nextToken() == JsonToken.VALUE_STRING) {
              members.put(name, parser.getString());
            } else {
              parser.skipChildren();
            }
          }
          return members;
        });
  }
}
