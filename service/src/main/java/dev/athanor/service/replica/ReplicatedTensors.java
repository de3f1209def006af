package dev.athanor.service.replica;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.replica.Peers.PeerRequest;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Stores tensors under names on several replicas, in two phases: the tensor is uploaded to each
 * without its name, and when all have it, each gives it the name
 * (docs/decisions/018-named-tensors.md).
 */
public final class ReplicatedTensors {

  /** The lease of an upload that has no name yet; no replica renews it. */
  static final Duration UPLOAD_LEASE = Duration.ofMinutes(10);

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

  /** Returns the maximum number of replicas that a tensor can be stored on. */
  public int maxCopies(EntryRequest request) {
    return peers.maxCopies(request);
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

    boolean isForAll() {
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
   * @param unreachable the ids of replicas that could not be asked to take or to delete a copy
   */
  public record Stored(TensorInfo info, boolean isNew, List<String> unreachable) {}

  /**
   * Creates a tensor on this replica, stores it under a name here and on other replicas, and
   * deletes older copies elsewhere.
   *
   * @throws Failure.Refused with {@code version-mismatch} if the precondition does not hold, or if
   *     a newer tensor was stored under the name meanwhile
   * @throws Failure.Busy with {@code replica-unavailable} if too few replicas exist, or not all are
   *     known
   * @throws Failure.Incomplete if not all copies could be made; it lists the replicas that have one
   */
  public Stored store(EntryRequest request, Order order, Creation creation) throws IOException {
    var others = peers.others(request);
    if (order.copies > 1 + others.size()) {
      throw Failure.Busy.replicasMissing(
          "%d copies of the tensor %s need as many replicas, but %d exist"
              .formatted(order.copies, order.name, 1 + others.size()));
    }
    var tensors = store.of(request.context().tenant());
    var before = tensors.named().version(order.name);
    if (order.precondition != null) {
      order.precondition.check.accept(
          before.isPresent() ? before : versionElsewhere(request, order.name));
    }
    var created = creation.create(new TensorOptions(null, order.scope, UPLOAD_LEASE, order.device));
    var replication =
        new TensorReplication(
            request, peers, handles.replica(), others, transfers, tensors, order, created, before);
    var unreachable = Replication.uninterrupted(replication::store);
    return new Stored(tensors.describe(created.handle()), before.isEmpty(), unreachable);
  }

  private OptionalLong versionElsewhere(EntryRequest request, String name) throws IOException {
    var holder = peers.find(request, "/tensors/" + name);
    return holder.isEmpty() ? OptionalLong.empty() : holder.get().version();
  }

  /**
   * Deletes the copies of a tensor on all replicas.
   *
   * @throws Failure.Busy with {@code replica-unavailable} if not all replicas are known
   * @throws Failure.Incomplete if a replica does not answer, which may still have one
   */
  public void delete(EntryRequest request, String name) throws IOException {
    delete(request, name, null);
  }

  /**
   * Deletes the copies of a tensor on all replicas.
   *
   * @param precondition receives the version, empty if no replica has a copy, and may throw; null
   *     for none
   * @throws Failure.Busy with {@code replica-unavailable} if not all replicas are known
   * @throws Failure.Incomplete if a replica does not answer, which may still have one
   */
  public void delete(
      EntryRequest request, String name, @Nullable Consumer<OptionalLong> precondition)
      throws IOException {
    var others = peers.others(request);
    var here = store.of(request.context().tenant()).named().version(name);
    if (precondition != null) {
      precondition.accept(here.isPresent() ? here : versionElsewhere(request, name));
    }
    var _ = store.of(request.context().tenant()).named().remove(name, Long.MAX_VALUE);
    Replication.everywhere(
        handles.replica(),
        others,
        id -> {
          var reply = peers.ask(id, new PeerRequest(request, "DELETE", "/tensors/" + name, true));
          if (reply.status() != 204) {
            throw PeerReplies.refusal(id, reply);
          }
        },
        done ->
            "the tensor of the name %s is deleted on %s, but others may still have it; send the request again"
                .formatted(name, done));
  }
}
