package dev.athanor.service.model;

import dev.athanor.models.ModelDefinition;
import dev.athanor.ops.Catalogue;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.ModelStorage.Metadata;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The models of all tenants. Where a model is named, {@code bert} is its default version and {@code
 * bert@2} another one.
 */
public final class StoredModels {

  private static final Logger LOG = LoggerFactory.getLogger(StoredModels.class);

  /** Maximum number of models of a tenant. */
  private static final int MOST_MODELS = 256;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Catalogue catalogue;
  private final TensorStore store;
  private final Transfers transfers;
  private final ModelStorage storage;
  private final int kept;
  private final Map<ModelId, ModelVersions> models = new ConcurrentHashMap<>();

  private final ModelLocks locks = new ModelLocks();

  /**
   * Creates the models, of which there are none before {@link #restore}.
   *
   * @throws RuntimeException if the folder of the settings cannot be used
   */
  public StoredModels(
      Catalogue catalogue, TensorStore store, Transfers transfers, ModelSettings settings) {
    this.catalogue = catalogue;
    this.store = store;
    this.transfers = transfers;
    storage =
        settings.dir().isEmpty()
            ? ModelStorage.IN_MEMORY
            : new ModelFolder(Path.of(settings.dir()));
    kept = settings.versions();
  }

  /** Loads the models that are kept in the folder of the settings. Logs those it cannot load. */
  public void restore() {
    try {
      storage.find().forEach(this::restore);
    } catch (IOException e) {
      LOG.warn("Cannot read the folder of models: {}", e.toString());
    }
  }

  private void restore(ModelStorage.Found found) {
    var id = found.id();
    try {
      check(id);
      var model = model(id, found.version(), found.metadata(), definition(found.files()));
      var context = new RequestContext(id.tenant(), Deadline.none());
      try {
        model.load(context);
      } catch (RuntimeException e) {
        model.delete(context);
        throw e;
      }
      models.merge(
          id,
          ModelVersions.of(model),
          (before, _) -> before.with(model).withDefault(found.version()));
    } catch (RuntimeException | IOException e) { // other models load
      LOG.warn(
          "Cannot load version {} of the model {} of the tenant {}: {}",
          found.version(),
          id.name(),
          id.tenant().name(),
          e.getMessage());
    }
  }

  /** Returns the model of files. */
  ModelDefinition definition(ModelFiles files) throws IOException {
    return files.checkedDefinition(catalogue);
  }

  StoredModel model(ModelId id, long version, Metadata metadata, ModelDefinition definition) {
    return new StoredModel(id.name(), version, metadata, definition, catalogue, store, transfers);
  }

  private void check(ModelId id) {
    id.check();
    var name = id.name();
    if (catalogue.find(name).isPresent() || name.equals(ModelId.STATISTICS)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "name",
          "the name \"%s\" is %s; choose another name"
              .formatted(name, name.equals(ModelId.STATISTICS) ? "reserved" : "that of an op"));
    }
  }

  /**
   * Returns the id of a model that may be stored.
   *
   * @throws Failure.Refused with {@code invalid-attribute} if models cannot have the name
   */
  public ModelId id(Tenant tenant, String name) {
    var id = new ModelId(tenant, name);
    check(id);
    return id;
  }

  /** Returns where the files of models are. */
  ModelStorage storage() {
    return storage;
  }

  /** Changes a model while no other request does. */
  <T> T change(ModelId id, ModelLocks.Change<T> change) {
    return locks.change(id, change);
  }

  /**
   * Stores a version, which becomes the default unless there is a newer one. The oldest version is
   * deleted if there are too many.
   *
   * @param replicas the ids of the replicas that have it
   */
  void store(
      ModelId id,
      StoredModel model,
      Incoming files,
      List<String> replicas,
      RequestContext context) {
    locks.change(
        id,
        () -> {
          checkCount(id);
          model.setReplicas(replicas);
          storage.store(id, model.version(), files, model.metadata());
          var before = models.get(id);
          var after = before == null ? ModelVersions.of(model) : before.with(model);
          if (after.defaultVersion() != model.version()) {
            storage.setDefault(id, after.defaultVersion());
          }
          models.put(id, after);
          for (long old : after.beyond(kept)) {
            delete(id, old, context);
          }
          return model;
        });
  }

  /** Throws if the tenant has too many models for another one. */
  void checkCount(ModelId id) {
    if (!models.containsKey(id) && list(id.tenant()).size() >= MOST_MODELS) {
      throw new Failure.Busy(
          Code.QUOTA_EXCEEDED,
          "Quota exceeded by another model: %d are stored, which is the limit. Delete models."
              .formatted(MOST_MODELS),
          RETRY);
    }
  }

  /** Deletes one of several versions. */
  private void delete(ModelId id, long version, RequestContext context) throws IOException {
    var before = versions(id);
    storage.delete(id, version);
    models.put(id, before.without(version));
    Objects.requireNonNull(before.all().get(version)).delete(context);
  }

  /**
   * Returns a version of a model.
   *
   * @param name of a model, with {@code @} and a version for another than the default
   * @throws Failure.Refused with {@code not-found}
   */
  public StoredModel get(Tenant tenant, String name) {
    var versions = versions(ModelId.of(tenant, name), name);
    var version = ModelId.version(name);
    return version == null ? versions.standard() : version(versions, version);
  }

  /**
   * Returns a model of a tenant; empty if there is none with this name.
   *
   * @param version null or empty for that in the name, or the default
   * @throws Failure.Refused with {@code not-found} if the model has no such version
   */
  public Optional<StoredModel> find(Tenant tenant, String name, @Nullable String version) {
    return models.containsKey(ModelId.of(tenant, name))
        ? Optional.of(get(tenant, ModelId.reference(name, version)))
        : Optional.empty();
  }

  private ModelVersions versions(ModelId id) {
    return versions(id, id.name());
  }

  private ModelVersions versions(ModelId id, String reference) {
    var versions = models.get(id);
    if (versions == null) {
      var message =
          "There is no model \"%s\". GET /models lists all models."
              .formatted(Tensors.excerpt(id.name()));
      throw catalogue.find(id.name()).isPresent() // which no replica stores
          ? new Failure.Refused(Code.NOT_FOUND, message)
          : ModelId.unknown(Code.NOT_FOUND, message, reference);
    }
    return versions;
  }

  private static StoredModel version(ModelVersions versions, String version) {
    return versions.all().values().stream()
        .filter(model -> Long.toString(model.version()).equals(version))
        .findFirst()
        .orElseThrow(() -> {
          var name = versions.standard().name();
          return ModelId.unknown(
              Code.NOT_FOUND,
              "The model \"%s\" has no version %s; its versions are %s."
                  .formatted(name, Tensors.excerpt(version), versions.all().keySet()),
              ModelId.reference(name, version));
        });
  }

  /** Returns whether a version of a model has not been deleted. */
  public boolean isStored(Tenant tenant, StoredModel model) {
    var versions = models.get(new ModelId(tenant, model.name()));
    return versions != null && versions.all().get(model.version()) == model;
  }

  /** Returns the versions of a model, in order; none if it has just been deleted. */
  public List<Long> versions(Tenant tenant, String name) {
    var versions = models.get(new ModelId(tenant, name));
    return versions == null ? List.of() : List.copyOf(versions.all().keySet());
  }

  /** Returns the default versions of a tenant's models by name. */
  public List<StoredModel> list(Tenant tenant) {
    return models.entrySet().stream()
        .filter(entry -> entry.getKey().tenant().equals(tenant))
        .map(entry -> entry.getValue().standard())
        .sorted(Comparator.comparing(StoredModel::name))
        .toList();
  }

  /**
   * Makes another version the default.
   *
   * @throws Failure.Refused with {@code not-found}
   */
  public StoredModel setDefault(String name, long version, RequestContext context) {
    var id = new ModelId(context.tenant(), name);
    return locks.change(
        id,
        () -> {
          var versions = versions(id);
          var model = version(versions, Long.toString(version));
          storage.setDefault(id, version);
          models.put(id, versions.withDefault(version));
          return model;
        });
  }

  /**
   * Deletes a model and its weights. Runs that have begun finish.
   *
   * @param name of a model to delete all versions, or of one version
   * @throws Failure.Refused with {@code not-found}
   */
  public void delete(String name, RequestContext context) {
    var id = ModelId.of(context.tenant(), name);
    locks.change(
        id,
        () -> {
          var model = get(context.tenant(), name);
          var versions = versions(id);
          if (ModelId.version(name) != null && versions.all().size() > 1) {
            delete(id, model.version(), context);
          } else {
            storage.delete(id);
            models.remove(id);
            versions.all().values().forEach(each -> each.delete(context));
          }
          return model;
        });
  }

  /**
   * Runs a model.
   *
   * @param inputs inputs by name
   * @param targets where outputs go, by name; all inline if empty
   * @param runner runs the pipeline of the call
   * @throws Failure if the inputs do not suit the model, or the run fails
   */
  public Result run(
      String name,
      Map<String, Call.Input> inputs,
      Map<String, Target> targets,
      RequestContext context,
      Function<Pipeline, Result> runner) {
    return run(get(context.tenant(), name).checked(targets), inputs, targets, context, runner);
  }

  /**
   * Runs a model, also with the states of a session.
   *
   * @param inputs inputs and states by name
   * @param targets where outputs and states go, by name
   * @param runner runs the pipeline of the call
   * @throws Failure if the inputs do not suit the model, or the run fails
   */
  public Result run(
      StoredModel model,
      Map<String, Call.Input> inputs,
      Map<String, Target> targets,
      RequestContext context,
      Function<Pipeline, Result> runner) {
    return start(
            model,
            inputs,
            targets,
            context,
            pipeline -> {
              var result = runner.apply(pipeline);
              return () -> result;
            })
        .get();
  }

  /**
   * Starts a model.
   *
   * @param inputs inputs by name
   * @param targets where outputs go, by name; all inline if empty
   * @param runner starts the pipeline of the call
   * @return waits for the result; must be called
   * @throws Failure if the inputs do not suit the model
   */
  public Supplier<Result> start(
      StoredModel model,
      Map<String, Call.Input> inputs,
      Map<String, Target> targets,
      RequestContext context,
      Function<Pipeline, Supplier<Result>> runner) {
    var batches = model.batches();
    if (batches != null && ModelBatches.suits(inputs, targets)) {
      return batches.start(
          inputs,
          targets,
          context,
          (rows, asked, shared, calls) ->
              startRun(model, rows, asked, shared, calls, runner).get());
    }
    var own = batches == null ? context : context.withRowInvariance(true);
    return startRun(model, inputs, targets, own, 1, runner);
  }

  /** Starts a run for one call or several. */
  private Supplier<Result> startRun(
      StoredModel model,
      Map<String, Call.Input> inputs,
      Map<String, Target> targets,
      RequestContext context,
      int calls,
      Function<Pipeline, Supplier<Result>> starter) {
    Function<Pipeline, Supplier<Result>> runner = pipeline -> starter.apply(pipeline.of(calls));
    try {
      return startOnce(model, inputs, targets, context, runner);
    } catch (Failure.Refused e) {
      boolean others = calls > 1 && !isStored(context.tenant(), model); // may not share with these
      if (e.code() != Code.UNKNOWN_HANDLE || others) {
        throw e;
      }
      // a weight may have been deleted, lost with a device, or replaced together with the model
      model.forgetMissing(context);
      var now = isStored(context.tenant(), model) ? model : get(context.tenant(), model.name());
      return startOnce(now, inputs, targets, context, runner);
    }
  }

  private static Supplier<Result> startOnce(
      StoredModel model,
      Map<String, Call.Input> inputs,
      Map<String, Target> targets,
      RequestContext context,
      Function<Pipeline, Supplier<Result>> runner) {
    var call = model.call(inputs, targets, context);
    var run = runner.apply(call.pipeline());
    return () -> call.named(run.get());
  }
}
