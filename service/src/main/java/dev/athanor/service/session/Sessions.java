package dev.athanor.service.session;

import dev.athanor.models.ModelDefinition.State;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The sessions of all tenants. */
public final class Sessions {

  /** The lease of sessions whose clients give none. */
  public static final Duration LEASE = Duration.ofHours(1);

  /** Maximum number of sessions of a tenant. */
  private static final int MOST_SESSIONS = 4096;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final StoredModels models;
  private final TensorStore store;
  private final Transfers transfers;
  private final Handles handles;
  private final InstantSource clock;
  private final int cachePositions;
  private final Map<String, Session> sessions = new ConcurrentHashMap<>();
  private final Map<StoredModel, CachePool> pools = new ConcurrentHashMap<>();

  /**
   * Creates an empty set of sessions.
   *
   * @param cachePositions positions of the caches of a model, for all its sessions together
   */
  public Sessions(
      StoredModels models,
      TensorStore store,
      Transfers transfers,
      Handles handles,
      InstantSource clock,
      int cachePositions) {
    this.models = models;
    this.store = store;
    this.transfers = transfers;
    this.handles = handles;
    this.clock = clock;
    this.cachePositions = cachePositions;
  }

  /**
   * Begins a session.
   *
   * @param lease how long it lives after its last call
   * @throws Failure if the model has no state, or a quota or the memory does not suffice
   */
  public Session create(String modelName, Duration lease, RequestContext context) {
    sweep();
    var model = models.get(context.tenant(), modelName);
    if (model.definition().states().isEmpty()) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "model",
          "the model %s has no state, so its calls need no session".formatted(model.name()));
    }
    var session = open(model, pool(model, context), lease, context);
    try {
      for (var state : model.definition().states()) {
        if (state instanceof State.Carried carried) {
          session.carry(carried, zeros(session, carried, context));
        }
      }
    } catch (RuntimeException e) {
      delete(session);
      throw e;
    }
    return session;
  }

  /** Begins a session without state. */
  Session open(
      StoredModel model, @Nullable CachePool pool, Duration lease, RequestContext context) {
    if (list(context.tenant()).size() >= MOST_SESSIONS) {
      throw new Failure.Busy(
          Code.QUOTA_EXCEEDED,
          "Quota exceeded by another session: %d exist, which is the limit. Delete sessions."
              .formatted(MOST_SESSIONS),
          RETRY);
    }
    var id = handles.nextSession();
    var session = new Session(id, context.tenant(), model, pool, lease, clock.instant());
    sessions.put(id, session);
    return session;
  }

  private TensorInfo zeros(Session session, State.Carried state, RequestContext context) {
    var charge = store.of(session.tenant()).charge(state.initial().bytes());
    try {
      return transfers.create(
          Elements.zeros(state.initial()), charge, options(session, state), context);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // nothing is read
    }
  }

  /** Returns the options of a tensor of a session, which is deleted with its model. */
  static TensorOptions options(Session session, State state) {
    return new TensorOptions(state.input(), session.model().scope(), session.lease(), null);
  }

  /** Returns the pool of a model, made on first use; null if no state is cached in blocks. */
  private @Nullable CachePool pool(StoredModel model, RequestContext context) {
    if (model.definition().states().stream().noneMatch(State.Cached.class::isInstance)) {
      return null;
    }
    synchronized (model) {
      var known = pools.get(model);
      if (known != null && known.isIntact(store)) {
        return known;
      }
      if (known != null) {
        known.delete(store, context.tenant()); // what is left of it
      }
      var made = CachePool.create(model, cachePositions, store, transfers, this::sweep, context);
      pools.put(model, made);
      return made;
    }
  }

  /**
   * Returns a session of a model.
   *
   * @throws Failure.Refused with {@code not-found}, or with {@code wrong-replica} if another
   *     replica began it
   */
  public Session get(Tenant tenant, String modelName, String id) {
    var session = sessions.get(id);
    if (session == null || !session.tenant().equals(tenant) || !session.isOf(modelName)) {
      throw Handles.isSession(id) ? elsewhere(id) : unknown(id);
    }
    if (hasEnded(session)) {
      delete(session);
      throw unknown(id);
    }
    return session;
  }

  private Failure elsewhere(String id) {
    return handles
        .otherReplica(id)
        .<Failure>map(owner -> Failure.WrongReplica.of("session", id, owner, handles.url(owner)))
        .orElseGet(() -> unknown(id));
  }

  static Failure unknown(String id) {
    return new Failure.Refused(
        Code.NOT_FOUND,
        "session",
        "There is no session \"%s\" of this model. It may have expired, or the model may have been replaced; POST /models/{name}/sessions begins a new one."
            .formatted(Tensors.excerpt(id)));
  }

  /**
   * Returns the sessions of a model.
   *
   * @throws Failure.Refused with {@code not-found} if there is no such model
   */
  public List<Session> list(Tenant tenant, String modelName) {
    sweep();
    var name = models.get(tenant, modelName).name();
    return list(tenant).stream().filter(each -> each.model().name().equals(name)).toList();
  }

  private List<Session> list(Tenant tenant) {
    return sessions.values().stream().filter(each -> each.tenant().equals(tenant)).toList();
  }

  /** Ends a call of a session. */
  void leave(Session session) {
    session.leave(clock.instant());
  }

  /** Ends a session and frees its memory. */
  public void delete(Session session) {
    sessions.remove(session.id(), session);
    session.close();
    var tensors = store.of(session.tenant());
    session.carried().values().stream()
        .map(TensorInfo::handle)
        .filter(store::lives) // the store may have freed it first, and forgotten the handle
        .forEach(tensors::delete);
  }

  private void sweep() {
    sessions.values().stream().filter(this::hasEnded).forEach(this::delete);
    pools.values().removeIf(pool -> !pool.isIntact(store));
  }

  /** Returns whether a session has expired, or its model or its memory is gone. */
  private boolean hasEnded(Session session) {
    var pool = session.pool();
    return session.hasExpired(clock.instant())
        || !models.isStored(session.tenant(), session.model())
        || (pool != null && !pool.isIntact(store))
        || !session.carried().values().stream().map(TensorInfo::handle).allMatch(store::lives);
  }
}
