package dev.athanor.service.replica;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.replica.Peers.PeerRequest;
import dev.athanor.service.replica.ReplicatedTensors.Order;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.NamedTensors.Copy;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.transfer.Transfers;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URLEncoder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** Copies one tensor of this replica to others, and gives the copies their name. */
final class TensorReplication {
  private final EntryRequest request;
  private final Peers peers;
  private final List<String> others;
  private final Handles handles;
  private final Transfers transfers;
  private final TenantTensors tensors;
  private final Order order;
  private final TensorInfo tensor;
  private final Map<String, String> uploads = new LinkedHashMap<>();
  private final Map<String, Failure> failed = new LinkedHashMap<>();
  private final List<String> unreachable = new ArrayList<>();
  private List<String> holders = List.of();
  private long version;

  TensorReplication(
      EntryRequest request,
      Peers peers,
      List<String> others,
      Handles handles,
      Transfers transfers,
      TenantTensors tensors,
      Order order,
      TensorInfo tensor) {
    this.request = request;
    this.peers = peers;
    this.others = others;
    this.handles = handles;
    this.transfers = transfers;
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
    for (var id : others) {
      if (!order.isForAll() && uploads.size() == order.copies() - 1) {
        break;
      }
      try {
        uploads.put(id, upload(id));
      } catch (Failure.DeadlineExceeded e) {
        throw e;
      } catch (Failure e) {
        failed.put(id, e);
        if (order.isForAll()) {
          break;
        }
      }
    }
    if (order.isForAll() ? !failed.isEmpty() : uploads.size() < order.copies() - 1) {
      throw incomplete(
          "no replica has stored the tensor under the name %s, since too few could take a copy"
              .formatted(order.name()),
          List.of());
    }
    failed.forEach((id, failure) -> {
      if (failure.code() == Code.REPLICA_UNAVAILABLE) {
        unreachable.add(id);
      }
    });
    failed.clear();
  }

  private String upload(String id) throws IOException {
    var type = tensor.type();
    var shape =
        type.shape().extents().stream().map(String::valueOf).collect(Collectors.joining(","));
    var target =
        new StringBuilder("/tensors?dtype=%s&shape=%s".formatted(type.dtype().text(), shape))
            .append("&ttlSeconds=")
            .append(ReplicatedTensors.UPLOAD_LEASE.toSeconds());
    if (order.scope() != null) {
      target.append("&scope=").append(URLEncoder.encode(order.scope(), UTF_8));
    }
    if (order.device() != null) {
      target.append("&device=").append(URLEncoder.encode(order.device(), UTF_8));
    }
    try (var reader = transfers.open(tensor.handle(), request.context());
        var pieces = reader.pieces(0, type.bytes())) {
      var reply =
          peers.ask(
              id,
              new PeerRequest(
                  request,
                  "POST",
                  target.toString(),
                  "application/octet-stream",
                  new PieceStream(pieces),
                  type.bytes(),
                  true));
      if (reply.status() != 201) {
        throw PeerReplies.refusal(id, reply);
      }
      var handle = PeerReplies.members(reply).getOrDefault("handle", "");
      if (!Handles.isHandle(handle)) {
        throw Failure.Busy.replicaUnavailable(id, "took the tensor but answered no handle");
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
    version = tensors.named().nextVersion(order.name(), peers.place());
    var all = new ArrayList<String>();
    all.add(handles.replica());
    all.addAll(uploads.keySet());
    holders = List.copyOf(all);
    var _ =
        tensors
            .named()
            .put(
                order.name(),
                tensor.handle(),
                new Copy(version, holders, order.lease()),
                current -> checkUnchanged(before, current));
  }

  private void checkUnchanged(OptionalLong before, OptionalLong current) {
    if (order.precondition() != null && !before.equals(current)) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          order.precondition().field(),
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
    for (var id : others) {
      if (uploads.containsKey(id)) {
        tell(id, uploads.get(id)).ifPresentOrElse(e -> failed.put(id, e), () -> done.add(id));
      } else if (!unreachable.contains(id) && tell(id, "").isPresent()) {
        unreachable.add(id);
      }
    }
    if (!failed.isEmpty()) {
      throw incomplete(
          "the tensor is stored under the name %s on %s, but not on all of %s; send the request again"
              .formatted(order.name(), String.join(", ", done), String.join(", ", holders)),
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
  private Optional<Failure> tell(String id, String handle) throws IOException {
    var body = new ByteArrayOutputStream();
    try (var out = Json.write(body)) {
      out.writeStartObject();
      if (!handle.isEmpty()) {
        out.writeStringProperty("handle", handle);
      }
      out.writeNumberProperty("version", version);
      out.writeNumberProperty("ttlSeconds", order.lease().toSeconds());
      out.writeName("replicas");
      out.writeStartArray();
      holders.forEach(out::writeString);
      out.writeEndArray();
      out.writeEndObject();
    }
    try {
      var reply =
          peers.ask(
              id,
              new PeerRequest(
                  request,
                  "PUT",
                  "/tensors/" + order.name() + "/copy",
                  "application/json",
                  new ByteArrayInputStream(body.toByteArray()),
                  body.size(),
                  false));
      return reply.status() == 204 ? Optional.empty() : Optional.of(PeerReplies.refusal(id, reply));
    } catch (Failure e) {
      return Optional.of(e);
    }
  }

  /** Deletes what was uploaded; what stays is freed when its lease ends. */
  void abandon() {
    uploads.forEach((id, handle) -> {
      try {
        var _ = peers.ask(id, new PeerRequest(request, "DELETE", "/tensors/" + handle, false));
      } catch (IOException | Failure _) {
        // as the request itself has failed, which is what the client is told
      }
    });
  }

  private Failure incomplete(String what, List<String> done) {
    return PeerReplies.incomplete(what, done, failed);
  }

  /** Returns the replicas that could not be asked to take or to delete a copy. */
  List<String> unreachable() {
    return List.copyOf(unreachable);
  }
}
