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
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URLEncoder;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Copies one tensor of this replica to others, and gives the copies their name. A copy is
 * identified by its handle. Replicas that get no copy drop an older one.
 */
final class TensorReplication extends Replication<String> {
  private final EntryRequest request;
  private final Peers peers;
  private final Transfers transfers;
  private final TenantTensors tensors;
  private final Order order;
  private final TensorInfo tensor;
  private final OptionalLong before;
  private long version;

  /**
   * @param before the version that the precondition was checked for
   */
  TensorReplication(
      EntryRequest request,
      Peers peers,
      String self,
      List<String> others,
      Transfers transfers,
      TenantTensors tensors,
      Order order,
      TensorInfo tensor,
      OptionalLong before) {
    super(request, self, others, order.copies(), "the tensor", " under the name " + order.name());
    this.request = request;
    this.peers = peers;
    this.transfers = transfers;
    this.tensors = tensors;
    this.order = order;
    this.tensor = tensor;
    this.before = before;
  }

  @Override
  boolean isRequired(String id) {
    return false;
  }

  @Override
  String copy(String id) throws IOException {
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

  @Override
  void commit(List<String> replicas) {
    version = tensors.named().nextVersion(order.name(), peers.place());
    var _ =
        tensors
            .named()
            .put(
                order.name(),
                tensor.handle(),
                new Copy(version, replicas, order.lease()),
                this::checkUnchanged);
  }

  private void checkUnchanged(OptionalLong current) {
    if (order.precondition() != null && !before.equals(current)) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          order.precondition().field(),
          "another tensor was stored under the name while this one was uploaded; read it and send the request again");
    }
  }

  @Override
  Optional<Failure> commit(String id, @Nullable String handle, List<String> replicas)
      throws IOException {
    var body = new ByteArrayOutputStream();
    try (var out = Json.write(body)) {
      out.writeStartObject();
      if (handle != null) {
        out.writeStringProperty("handle", handle);
      }
      out.writeNumberProperty("version", version);
      out.writeNumberProperty("ttlSeconds", order.lease().toSeconds());
      out.writeName("replicas");
      out.writeStartArray();
      replicas.forEach(out::writeString);
      out.writeEndArray();
      out.writeEndObject();
    }
    return peers.tell(request, id, "/tensors/" + order.name() + "/copy", body);
  }

  @Override
  void discard() {
    tensors.delete(tensor.handle());
  }

  @Override
  void discard(String id, String handle) throws IOException {
    var _ = peers.ask(id, new PeerRequest(request, "DELETE", "/tensors/" + handle, false));
  }
}
