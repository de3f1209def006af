package dev.athanor.service.replica;

import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.replica.Peers.PeerRequest;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import io.opentelemetry.context.Context;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Stores tensors under names on several replicas, in two phases: the tensor is uploaded to each
 * without its name, and when all have it, each gives it the name. What fails before the second
 * phase has changed nothing (docs/decisions/018-named-tensors.md).
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
    return request.isForwarded() ? 1 : peers.maxReplicas();
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
        new TensorReplication(request, peers, others, handles, transfers, tensors, order, created);
    var info = uninterrupted(() -> replication.copy(before));
    return new Stored(info, before.isEmpty(), replication.unreachable());
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
    ProcessorShares.release();
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
      var id = holder.get().id();
      var located =
          Failure.WrongReplica.of(
              String.valueOf(failure.field()), failure.name(), id, handles.url(id));
      return failure.step() == null ? located : located.in(failure.step());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
    var done = new ArrayList<String>();
    done.add(handles.replica());
    var failed = new LinkedHashMap<String, Failure>();
    for (var id : others) {
      try {
        var reply = peers.ask(id, new PeerRequest(request, "DELETE", "/tensors/" + name, true));
        if (reply.status() == 204) {
          done.add(id);
        } else {
          failed.put(id, PeerReplies.refusal(id, reply));
        }
      } catch (Failure e) {
        failed.put(id, e);
      }
    }
    if (!failed.isEmpty()) {
      throw PeerReplies.incomplete(
          "the tensor of the name %s is deleted on %s, but others may still have it; send the request again"
              .formatted(name, String.join(", ", done)),
          done,
          failed);
    }
  }
}
