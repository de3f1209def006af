package dev.athanor.service.replica;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.model.PreparedModel;
import dev.athanor.service.model.PreparedModels;
import dev.athanor.service.replica.Peers.PeerRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URLEncoder;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Copies a new version of a model to other replicas. Those that have the model must get it, so that
 * the default does not depend on which replica a request reaches.
 */
final class ModelReplication extends Replication<Long> {
  private final EntryRequest request;
  private final Peers peers;
  private final PreparedModels models;
  private final PreparedModel model;
  private final NewestVersions others;

  ModelReplication(
      EntryRequest request,
      Peers peers,
      String self,
      int count,
      PreparedModels models,
      PreparedModel model,
      NewestVersions others) {
    super(
        request,
        self,
        others.replicas(),
        count,
        "version %d of the model %s".formatted(model.version(), model.name()),
        "");
    this.request = request;
    this.peers = peers;
    this.models = models;
    this.model = model;
    this.others = others;
  }

  /** The path of the requests by which replicas copy models. */
  static String path(String name) {
    return "/models/" + name + "/copy";
  }

  @Override
  boolean isRequired(String id) {
    return others.has(id);
  }

  @Override
  Long copy(String id) throws IOException {
    var unknown = others.failures().get(id);
    if (unknown != null) {
      throw unknown;
    }
    var target =
        "%s?version=%d&extents=%s&batch=%s"
            .formatted(
                path(model.name()),
                model.version(),
                URLEncoder.encode(model.model().extents().text(), UTF_8),
                URLEncoder.encode(model.model().batch(), UTF_8));
    var reply =
        peers.ask(
            id, new PeerRequest(request, "PUT", target, "application/zip", model.zip(), -1, true));
    if (reply.status() != 204) {
      throw PeerReplies.refusal(id, reply);
    }
    return model.version();
  }

  @Override
  void commit(List<String> replicas) throws IOException {
    models.store(model, replicas, request.context());
  }

  @Override
  Optional<Failure> commit(String id, @Nullable Long version, List<String> replicas)
      throws IOException {
    return version == null
        ? Optional.ofNullable(others.failures().get(id))
        : tell(id, version, replicas);
  }

  private Optional<Failure> tell(String id, long version, List<String> replicas)
      throws IOException {
    var body = new ByteArrayOutputStream();
    try (var out = Json.write(body)) {
      out.writeStartObject();
      out.writeNumberProperty("version", version);
      out.writeName("replicas");
      out.writeStartArray();
      replicas.forEach(out::writeString);
      out.writeEndArray();
      out.writeEndObject();
    }
    return peers.tell(request, id, path(model.name()), body);
  }

  @Override
  void discard() {
    models.discard(model, request.context());
  }

  @Override
  void discard(String id, Long version) throws IOException {
    var _ = tell(id, version, List.of());
  }
}
