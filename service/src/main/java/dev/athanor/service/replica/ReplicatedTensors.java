package dev.athanor.service.replica;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.replica.Peers.PeerRequest;
import dev.athanor.service.replica.ReplicaClient.Reply;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.NamedTensors.Copy;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import io.opentelemetry.context.Context;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonToken;

/**
 * Stores tensors under names on several replicas, in two phases: the tensor is uploaded to each
 * without its name, and when all have it, each gives it the name. What fails before the second
 * phase has changed nothing (docs/decisions/018-named-tensors.md).
 */
public final class ReplicatedTensors {

  /** The lease of an upload that has no name yet; no replica renews it. */
  private static final Duration UPLOAD_LEASE = Duration.ofMinutes(10);

  private final Peers peers;
  private final Handles handles;
  private final TensorStore store;
  private final Transfers transfers;

  /** The parameters are those of this replica. */
  public ReplicatedTensors(Peers peers, Handles handles, TensorStore store, Transfers transfers) {
    this.peers = peers;
    this.handles = handles;
    this.store = store;
    this.transfers = transfers;
  }

  /** Returns the number of replicas that a tensor can be stored on. */
  public int maxCopies(EntryRequest request) {
    return 1 + peers.of(request).marks().size();
  }

  /**
   * The state that a name must have for a tensor to be stored under it.
   *
   * @param field the path of the condition in the request
   * @param check throws unless the version of the tensor with the name, if any, is right
   */
  public record Precondition(String field, Consumer<OptionalLong> check) {}

  /**
   * How a tensor is stored.
   *
   * @param copies the number of replicas with a copy, this one included; 0 for all
   * @param scope the scope of each copy; null for none
   * @param lease the lease of each copy; zero to keep it until it is deleted
   * @param device the device of each copy; null to let each replica choose
   * @param precondition null for none
   */
  public record Order(
      String name,
      int copies,
      @Nullable String scope,
      Duration lease,
      @Nullable String device,
      @Nullable Precondition precondition) {

    private boolean isForAll() {
      return copies == 0;
    }
  }

  /** Creates a tensor on this replica. */
  public interface Creation {
    TensorInfo create(TensorOptions options) throws IOException;
  }

  /**
   * The result of storing a tensor.
   *
   * @param isNew whether this replica had no tensor of the name
   * @param unreachable the marks of replicas that could not be asked to take or to delete a copy
   */
  public record Stored(TensorInfo info, boolean isNew, List<String> unreachable) {}

  /**
   * Creates a tensor on this replica, stores it under a name here and on other replicas, and
   * deletes older copies elsewhere.
   *
   * @throws Failure.Refused with {@code version-mismatch} if the precondition does not hold, or if
   *     a newer tensor was stored under the name meanwhile
   * @throws Failure.Incomplete if not all copies could be made; it lists the replicas that have one
   */
  public Stored store(EntryRequest request, Order order, Creation creation) throws IOException {
    var tensors = store.of(request.context().tenant());
    var before = tensors.named().version(order.name);
    if (order.precondition != null) {
      order.precondition.check.accept(
          before.isPresent() ? before : versionElsewhere(request, order.name));
    }
    var created = creation.create(new TensorOptions(null, order.scope, UPLOAD_LEASE, order.device));
    var run = new Run(request, peers.of(request), tensors, order, created);
    var info = uninterrupted(() -> run.copy(before));
    return new Stored(info, before.isEmpty(), List.copyOf(run.unreachable));
  }

  /** Work that asks other replicas. */
  private interface Work<T> {
    T run() throws IOException;
  }

  /**
   * Runs work on a thread of its own. A call's thread may be interrupted when its client
   * disconnects, but uploads must be deleted and copies must not differ even then.
   */
  private static <T> T uninterrupted(Work<T> work) throws IOException {
    var outcome = new CompletableFuture<T>();
    Thread.startVirtualThread(
        Context.current()
            .wrap(() -> {
              try {
                outcome.complete(work.run());
              } catch (Throwable e) {
                outcome.completeExceptionally(e);
              }
            }));
    try {
      return outcome.join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case Failure failure -> throw failure;
        case IOException failure -> throw failure;
        case null, default -> throw e;
      }
    }
  }

  private OptionalLong versionElsewhere(EntryRequest request, String name) throws IOException {
    var holder = peers.find(request, name);
    return holder.isEmpty() ? OptionalLong.empty() : holder.get().version();
  }

  /**
   * Returns the failure of a request with a name that has no copy here: {@code wrong-replica} if
   * another replica has one, else the given failure.
   *
   * @throws Failure.Busy with {@code replica-unavailable} if a replica that does not answer may
   *     have a copy
   */
  public Failure locate(EntryRequest request, Failure.UnknownName failure) {
    try {
      var holder = peers.find(request, failure.name());
      if (holder.isEmpty()) {
        return failure;
      }
      var mark = holder.get().mark();
      var located =
          Failure.WrongReplica.of(
              String.valueOf(failure.field()), failure.name(), mark, handles.url(mark));
      return failure.step() == null ? located : located.in(failure.step());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The copies of one tensor. */
  private final class Run {
    private final EntryRequest request;
    private final Peers peers;
    private final TenantTensors tensors;
    private final Order order;
    private final TensorInfo tensor;
    private final Map<String, String> uploads = new LinkedHashMap<>();
    private final Map<String, Failure> failed = new LinkedHashMap<>();
    private final List<String> unreachable = new ArrayList<>();
    private List<String> holders = List.of();
    private long version;

    Run(EntryRequest request, Peers peers, TenantTensors tensors, Order order, TensorInfo tensor) {
      this.request = request;
      this.peers = peers;
      this.tensors = tensors;
      this.order = order;
      this.tensor = tensor;
    }

    TensorInfo copy(OptionalLong before) throws IOException {
      boolean named = false;
      try {
        upload();
        name(before);
        named = true;
      } finally {
        if (!named) {
          abandon();
          tensors.delete(tensor.handle());
        }
      }
      return finish();
    }

    /** Uploads the tensor to as many replicas as needed; the next one replaces one that fails. */
    void upload() throws IOException {
      for (var mark : peers.marks()) {
        if (!order.isForAll() && uploads.size() == order.copies - 1) {
          break;
        }
        if (!peers.exists(mark)) {
          unreachable.add(mark);
          continue;
        }
        try {
          uploads.put(mark, upload(mark));
        } catch (Failure.DeadlineExceeded e) {
          throw e;
        } catch (Failure e) {
          failed.put(mark, e);
          if (order.isForAll()) {
            break;
          }
        }
      }
      if (order.isForAll() ? !failed.isEmpty() : uploads.size() < order.copies - 1) {
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
              .append(UPLOAD_LEASE.toSeconds());
      if (order.scope != null) {
        target.append("&scope=").append(URLEncoder.encode(order.scope, UTF_8));
      }
      if (order.device != null) {
        target.append("&device=").append(URLEncoder.encode(order.device, UTF_8));
      }
      try (var reader = transfers.open(tensor.handle(), request.context());
          var pieces = reader.pieces(0, type.bytes())) {
        var reply =
            peers.ask(
                mark,
                new PeerRequest(
                    request,
                    "POST",
                    target.toString(),
                    "application/octet-stream",
                    new PieceStream(pieces),
                    type.bytes(),
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

    /**
     * Gives the tensor its name on this replica. From now on the request cannot be undone.
     *
     * @param before the version that the precondition was checked for
     */
    void name(OptionalLong before) {
      request.context().deadline().check();
      version = tensors.named().nextVersion(order.name, peers.place());
      var all = new ArrayList<String>();
      all.add(handles.replica());
      all.addAll(uploads.keySet());
      holders = List.copyOf(all);
      var _ =
          tensors
              .named()
              .put(
                  order.name,
                  tensor.handle(),
                  new Copy(version, holders, order.lease),
                  current -> checkUnchanged(before, current));
    }

    private void checkUnchanged(OptionalLong before, OptionalLong current) {
      if (order.precondition != null && !before.equals(current)) {
        throw new Failure.Refused(
            Code.VERSION_MISMATCH,
            order.precondition.field,
            "another tensor was stored under the name while this one was uploaded; read it and send the request again");
      }
    }

    /**
     * Has the other replicas do the same, even if the client disconnects, so that the copies do not
     * differ.
     */
    TensorInfo finish() throws IOException {
      var done = new ArrayList<String>();
      done.add(handles.replica());
      for (var mark : peers.marks()) {
        if (uploads.containsKey(mark)) {
          tell(mark, uploads.get(mark))
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
      return tensors.describe(tensor.handle());
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
                new PeerRequest(
                    request,
                    "PUT",
                    "/tensors/" + order.name + "/copy",
                    "application/json",
                    new ByteArrayInputStream(body.toByteArray()),
                    body.size(),
                    false));
        return reply.status() == 204 ? Optional.empty() : Optional.of(refusal(mark, reply));
      } catch (Failure e) {
        return Optional.of(e);
      }
    }

    /** Deletes what was uploaded; what stays is freed when its lease ends. */
    void abandon() {
      uploads.forEach((mark, handle) -> {
        try {
          var _ = peers.ask(mark, new PeerRequest(request, "DELETE", "/tensors/" + handle, false));
        } catch (IOException | Failure _) {
          // as the request itself has failed, which is what the client is told
        }
      });
    }

    private Failure incomplete(String what, List<String> done) {
      return ReplicatedTensors.incomplete(what, done, failed);
    }
  }

  /**
   * Deletes the copies of a tensor on all replicas.
   *
   * @throws Failure.Incomplete if a replica does not answer, which may still have one
   */
  public void delete(EntryRequest request, String name) throws IOException {
    var _ = store.of(request.context().tenant()).named().remove(name, Long.MAX_VALUE);
    var others = peers.of(request);
    var done = new ArrayList<String>();
    done.add(handles.replica());
    var failed = new LinkedHashMap<String, Failure>();
    for (var mark : others.marks()) {
      if (others.exists(mark)) {
        try {
          var reply =
              others.ask(mark, new PeerRequest(request, "DELETE", "/tensors/" + name, true));
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
