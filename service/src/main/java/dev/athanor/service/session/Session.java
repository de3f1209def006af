package dev.athanor.service.session;

import dev.athanor.models.ModelDefinition.State;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorInfo;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The state of a model between the calls of one client. One call at a time uses it. */
public final class Session {

  private final String id;
  private final Tenant tenant;
  private final StoredModel model;
  private final @Nullable CachePool pool;
  private final Duration lease;

  /** The blocks of the pool with its positions, in order. */
  private final List<Integer> blocks = new ArrayList<>();

  /** The tensors of its own. */
  private final Map<State.Carried, TensorInfo> carried = new HashMap<>();

  private int length;
  private boolean inUse;
  private boolean closed;
  private boolean closedAfterUse;
  private @Nullable Instant expires;

  Session(
      String id,
      Tenant tenant,
      StoredModel model,
      @Nullable CachePool pool,
      Duration lease,
      Instant now) {
    this.id = id;
    this.tenant = tenant;
    this.model = model;
    this.pool = pool;
    this.lease = lease;
    this.expires = end(now);
  }

  /**
   * A description.
   *
   * @param length the number of positions that it holds
   * @param bytes the memory of its state
   * @param expiresAt when it ends unless it is used; null if it stays until it is deleted
   */
  public record Summary(
      String session,
      String model,
      long version,
      int length,
      long bytes,
      @Nullable Instant expiresAt) {}

  /** Returns the description of the session. */
  public synchronized Summary summary() {
    long own = carried.values().stream().mapToLong(tensor -> tensor.type().bytes()).sum();
    long shared = pool == null ? 0 : pool.bytes(blocks.size());
    return new Summary(id, model.name(), model.version(), length, own + shared, expires);
  }

  public String id() {
    return id;
  }

  /** Returns the model. */
  public StoredModel model() {
    return model;
  }

  /** Returns whether a name, with a version or without, is that of the session's model. */
  boolean isOf(String modelName) {
    return modelName.equals(model.name()) || modelName.equals(model.name() + "@" + model.version());
  }

  Tenant tenant() {
    return tenant;
  }

  @Nullable CachePool pool() {
    return pool;
  }

  Duration lease() {
    return lease;
  }

  /**
   * Begins a call.
   *
   * @throws Failure.Refused if another call uses the session, or it has ended
   */
  synchronized void enter() {
    if (closed) {
      throw Sessions.unknown(id);
    }
    if (inUse) {
      throw new Failure.Refused(
          Code.HANDLE_IN_USE,
          "session",
          "another call uses the session %s; send the calls of a session one after the other"
              .formatted(id));
    }
    inUse = true;
  }

  /** Ends a call and renews the lease. */
  synchronized void leave(Instant now) {
    inUse = false;
    expires = end(now);
    if (closed) {
      releaseBlocks();
    }
  }

  private @Nullable Instant end(Instant now) {
    return lease.isZero() ? null : now.plus(lease);
  }

  synchronized boolean hasExpired(Instant now) {
    return !inUse && expires != null && !now.isBefore(expires);
  }

  /** Ends the session; a call that uses it keeps its blocks until it ends. */
  synchronized void close() {
    closed = true;
    if (!inUse) {
      releaseBlocks();
    }
  }

  /** Makes the session end with its first call. */
  synchronized void closeAfterUse() {
    closedAfterUse = true;
  }

  synchronized boolean isClosedAfterUse() {
    return closedAfterUse;
  }

  private void releaseBlocks() {
    if (pool != null) {
      pool.release(blocks);
    }
    blocks.clear();
  }

  synchronized int length() {
    return length;
  }

  synchronized List<Integer> blocks() {
    return List.copyOf(blocks);
  }

  synchronized Map<State.Carried, TensorInfo> carried() {
    return Map.copyOf(carried);
  }

  synchronized void carry(State.Carried state, TensorInfo tensor) {
    carried.put(state, tensor);
  }

  /**
   * Takes the blocks for more positions. Only the call that uses the session may do so.
   *
   * @throws Failure if the model has a smaller maximum, or too few blocks are free
   */
  void reserve(int positions) {
    int held = length();
    int most = model.definition().maxPositions();
    if (positions > most - held) {
      throw new Failure.Refused(
          Code.TOO_LARGE,
          "session",
          "the session %s has %d positions, and the call adds %d; the model has at most %d"
              .formatted(id, held, positions, most));
    }
    if (pool == null) {
      return;
    }
    int missing = Math.ceilDiv(held + positions, CachePool.BLOCK) - blocks().size();
    if (missing > 0) {
      var taken = pool.take(missing); // without the lock, since this may end other sessions
      synchronized (this) {
        blocks.addAll(taken);
      }
    }
  }

  /** Takes over the blocks of the beginning of another session. */
  synchronized void share(List<Integer> shared) {
    if (pool != null) {
      pool.share(shared);
      blocks.addAll(shared);
    }
  }

  /** Forgets the positions that a call has added before it failed. */
  synchronized void rewind(int before) {
    length = before;
  }

  /** Records that a call has added positions. */
  synchronized void advance(int positions) {
    length += positions;
  }
}
