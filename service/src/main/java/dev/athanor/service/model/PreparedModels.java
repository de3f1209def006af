package dev.athanor.service.model;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.ModelStorage.Metadata;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import dev.athanor.service.stream.RequestContext;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * New versions of models whose weights are resident, but which are not stored yet: other replicas
 * may have to take a copy first.
 */
public final class PreparedModels {

  /** How long a copy for another replica waits for it to say what becomes of it. */
  private static final Duration LEASE = Duration.ofMinutes(10);

  private final StoredModels models;
  private final InstantSource clock;
  private final Function<Pipeline, Result> runner;
  private final Map<Key, PreparedModel> prepared = new ConcurrentHashMap<>();

  private record Key(ModelId id, long version) {}

  /**
   * @param runner runs the pipelines of an example if calls are to share runs
   */
  public PreparedModels(
      StoredModels models, InstantSource clock, Function<Pipeline, Result> runner) {
    this.models = models;
    this.clock = clock;
    this.runner = runner;
  }

  /** Returns the greatest version of a model on this replica; 0 if it does not have the model. */
  public long newest(ModelId id) throws IOException {
    discardExpired();
    return prepared.keySet().stream()
        .filter(key -> key.id().equals(id))
        .mapToLong(Key::version)
        .reduce(newestStored(id), Math::max);
  }

  private long newestStored(ModelId id) throws IOException {
    return models.versions(id.tenant(), id.name()).stream()
        .reduce(models.storage().newest(id), Math::max);
  }

  /**
   * Prepares a new version of a model.
   *
   * @param above the version is greater
   * @throws Failure.Refused if the files are not a model that is supported
   * @throws Failure if a quota or the memory does not suffice
   */
  public PreparedModel prepare(ModelId id, ModelUpload upload, long above, RequestContext context)
      throws IOException {
    return prepare(id, upload, newest -> Math.max(newest, above) + 1, null, context);
  }

  /**
   * Prepares a copy for another replica.
   *
   * @param version the version on all replicas
   * @throws Failure.Refused if the files are not a model that is supported; with {@code
   *     version-mismatch} if this replica has that version, or a newer one
   * @throws Failure if a quota or the memory does not suffice
   */
  public void prepareCopy(ModelId id, ModelUpload upload, long version, RequestContext context)
      throws IOException {
    var _ =
        prepare(
            id,
            upload,
            newest -> {
              if (newest >= version) {
                throw new Failure.Refused(
                    Code.VERSION_MISMATCH,
                    "another request stores version %d of the model %s; send the request again"
                        .formatted(newest, id.name()));
              }
              return version;
            },
            clock.instant().plus(LEASE),
            context);
  }

  private PreparedModel prepare(
      ModelId id,
      ModelUpload upload,
      LongUnaryOperator number,
      @Nullable Instant expires,
      RequestContext context)
      throws IOException {
    models.checkCount(id);
    var files = models.storage().receive(context.memory());
    try {
      upload.read(files);
      var definition = models.definition(files.files());
      var metadata = new Metadata(clock.instant(), upload.extents(), upload.batch(), List.of());
      var made =
          models.change(
              id,
              () -> {
                long version = number.applyAsLong(newest(id));
                var model = models.model(id, version, metadata, definition);
                var next = new PreparedModel(id, model, files, expires);
                prepared.put(new Key(id, version), next);
                return next;
              });
      try {
        made.model().plan(upload.limit(), context);
        made.model().load(context);
        checkBatches(made.model(), context);
      } catch (RuntimeException e) {
        discard(made, context);
        throw e;
      }
      return made;
    } catch (IOException | RuntimeException e) {
      files.close();
      throw e;
    }
  }

  private void checkBatches(StoredModel model, RequestContext context) {
    if (!model.batch().isEmpty()) {
      BatchCheck.rows(
          model,
          model.batch(),
          inputs -> {
            var call = model.call(inputs, Map.of(), context.withRowInvariance(true));
            return call.named(runner.apply(call.pipeline()));
          });
    }
  }

  /**
   * Stores a version, which becomes the default unless a newer one is stored. The oldest version is
   * deleted if there are too many.
   *
   * @param replicas the ids of the replicas that have it
   */
  public void store(PreparedModel model, List<String> replicas, RequestContext context) {
    try (var files = model.files()) {
      models.store(model.id(), model.model(), files, replicas, context);
      prepared.remove(new Key(model.id(), model.version()), model);
    }
  }

  /**
   * Stores a copy for another replica. Storing it again has no effect.
   *
   * @throws Failure.Refused with {@code version-mismatch} if it was not prepared
   */
  public void storeCopy(ModelId id, long version, List<String> replicas, RequestContext context) {
    var copy = prepared.get(new Key(id, version));
    if (copy != null) {
      store(copy, replicas, context);
    } else if (!models.versions(id.tenant(), id.name()).contains(version)) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          "version",
          "version %d of the model %s was not copied to this replica, or has been discarded since; send the request again"
              .formatted(version, id.name()));
    }
  }

  /** Discards a version that is not stored. */
  public void discard(PreparedModel model, RequestContext context) {
    if (prepared.remove(new Key(model.id(), model.version()), model)
        && !models.isStored(model.id().tenant(), model.model())) {
      model.model().delete(context);
      model.files().close();
    }
  }

  /** Discards a copy for another replica. */
  public void discardCopy(ModelId id, long version, RequestContext context) {
    var copy = prepared.get(new Key(id, version));
    if (copy != null) {
      discard(copy, context);
    }
  }

  private void discardExpired() {
    var now = clock.instant();
    for (var model : prepared.values()) {
      if (model.expires() != null && now.isAfter(model.expires())) {
        discard(model, new RequestContext(model.id().tenant(), Deadline.none()));
      }
    }
  }
}
