package dev.athanor.service.replica;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.model.ModelId;
import dev.athanor.service.model.ModelUpload;
import dev.athanor.service.model.PreparedModels;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.replica.Peers.PeerRequest;
import dev.athanor.service.replica.ReplicaClient.Reply;
import dev.athanor.service.tensor.Handles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;

/**
 * Changes stored models on all replicas that have them, so that requests get the same default
 * everywhere (docs/decisions/018-named-tensors.md).
 */
public final class ReplicatedModels {

  private static final int NOT_FOUND = 404;

  private final Peers peers;
  private final Handles handles;
  private final StoredModels models;
  private final PreparedModels prepared;

  /** The parameters are those of this replica. */
  public ReplicatedModels(
      Peers peers, Handles handles, StoredModels models, PreparedModels prepared) {
    this.peers = peers;
    this.handles = handles;
    this.models = models;
    this.prepared = prepared;
  }

  /** Returns the maximum number of replicas that a model can be stored on. */
  public int maxCopies(EntryRequest request) {
    return peers.maxCopies(request);
  }

  /**
   * The result of storing a model.
   *
   * @param unreachable the ids of replicas that could not be asked, which may have older versions
   */
  public record Stored(StoredModel model, List<String> unreachable) {}

  /**
   * Stores a new version of a model on this replica, on those that have the model, and on others.
   * Its number is greater than that of any version on a replica that answers.
   *
   * @param copies the least number of replicas with a copy, this one included; 0 for all
   * @throws Failure.Refused if the files are not a model that is supported
   * @throws Failure.Busy with {@code replica-unavailable} if too few replicas exist, or not all are
   *     known
   * @throws Failure.Incomplete if not all copies could be made; it lists the replicas that have one
   */
  public Stored put(EntryRequest request, String name, int copies, ModelUpload upload)
      throws IOException {
    var id = models.id(request.context().tenant(), name);
    var others = peers.others(request);
    if (copies > 1 + others.size()) {
      throw Failure.Busy.replicasMissing(
          "%d copies of the model %s need as many replicas, but %d exist"
              .formatted(copies, name, 1 + others.size()));
    }
    var newest = NewestVersions.of(request, peers, others, name);
    var model = prepared.prepare(id, upload, newest.greatest(), request.context());
    var replication =
        new ModelReplication(request, peers, handles.replica(), copies, prepared, model, newest);
    var unreachable = Replication.uninterrupted(replication::store);
    return new Stored(model.model(), unreachable);
  }

  /**
   * Makes another version the default on all replicas that have it. Others drop the model: they
   * forward requests for it.
   *
   * @throws Failure.Refused with {@code not-found} if no replica has the version
   * @throws Failure.UnknownName after the change, if another replica has the version
   * @throws Failure.Incomplete if a replica does not answer, which may have another default
   */
  public StoredModel setDefault(EntryRequest request, String name, long version)
      throws IOException {
    var others = peers.others(request);
    var reference = ModelId.reference(name, Long.toString(version));
    var missing = missing(request, reference);
    if (missing.isEmpty()) {
      models.setDefault(name, version, request.context());
    } else if (peers.locate(request, missing.get()) == missing.get()) {
      throw missing.get();
    } else if (!models.versions(request.context().tenant(), name).isEmpty()) {
      models.delete(name, request.context());
    }
    Replication.everywhere(
        handles.replica(),
        others,
        id -> setDefault(request, id, name, version),
        done ->
            "version %d of the model %s is the default on %s, but others may have another default; send the request again"
                .formatted(version, name, done));
    return models.get(request.context().tenant(), reference);
  }

  private Optional<Failure.UnknownName> missing(EntryRequest request, String reference) {
    try {
      var _ = models.get(request.context().tenant(), reference);
      return Optional.empty();
    } catch (Failure.UnknownName e) {
      return Optional.of(e);
    }
  }

  private void setDefault(EntryRequest request, String id, String name, long version)
      throws IOException {
    var body = "{\"version\": %d}".formatted(version).getBytes(UTF_8);
    var reply =
        peers.ask(
            id,
            new PeerRequest(
                request,
                "PUT",
                "/models/" + name + "/default",
                "application/json",
                new ByteArrayInputStream(body),
                body.length,
                false));
    if (reply.status() == NOT_FOUND) {
      var _ = delete(request, id, name);
    } else if (reply.status() != 200) {
      throw PeerReplies.refusal(id, reply);
    }
  }

  /**
   * Deletes a model, or one version of it, on all replicas.
   *
   * @param reference to a version, or the name of a model to delete all versions
   * @throws Failure.Refused with {@code not-found} if no replica has it
   * @throws Failure.Incomplete if a replica does not answer, which may still have it
   */
  public void delete(EntryRequest request, String reference) throws IOException {
    var others = peers.others(request);
    var missing = missing(request, reference);
    if (missing.isEmpty()) {
      models.delete(reference, request.context());
    }
    var found = new HashSet<String>();
    Replication.everywhere(
        handles.replica(),
        others,
        id -> {
          if (delete(request, id, reference)) {
            found.add(id);
          }
        },
        done ->
            "the model %s is deleted on %s, but others may still have it; send the request again"
                .formatted(reference, done));
    if (missing.isPresent() && found.isEmpty()) {
      throw missing.get();
    }
  }

  /** Returns whether a replica had the model. */
  private boolean delete(EntryRequest request, String id, String reference) throws IOException {
    Reply reply = peers.ask(id, new PeerRequest(request, "DELETE", "/models/" + reference, false));
    if (reply.status() != 204 && reply.status() != NOT_FOUND) {
      throw PeerReplies.refusal(id, reply);
    }
    return reply.status() == 204;
  }
}
