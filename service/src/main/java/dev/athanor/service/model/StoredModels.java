package dev.athanor.service.model;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.models.onnx.OnnxModel;
import dev.athanor.ops.Catalogue;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** The models of all tenants. */
public final class StoredModels {

  private static final Pattern FORM = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}");

  /** What {@code /v2/models/stats} names. */
  private static final String STATISTICS = "stats";

  /** Maximum number of models of a tenant. */
  private static final int MOST_MODELS = 256;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Catalogue catalogue;
  private final TensorStore store;
  private final Transfers transfers;
  private final InstantSource clock;
  private final Map<Key, StoredModel> models = new ConcurrentHashMap<>();
  private final AtomicLong versions = new AtomicLong();

  private record Key(Tenant tenant, String name) {}

  public StoredModels(
      Catalogue catalogue, TensorStore store, Transfers transfers, InstantSource clock) {
    this.catalogue = catalogue;
    this.store = store;
    this.transfers = transfers;
    this.clock = clock;
  }

  /**
   * Stores a model and makes its weights resident. It replaces the tenant's model with the same
   * name.
   *
   * @param file an ONNX file
   * @throws Failure.Refused if the file is not a model that the import supports
   * @throws Failure if a quota or the memory does not suffice; nothing is stored then
   */
  public StoredModel put(String name, HeldBody file, RequestContext context) {
    try {
      return put(name, OnnxModel.read(file, file.bytes()), context);
    } catch (ModelException e) {
      throw StoredModel.refused(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the file is in memory
    }
  }

  /**
   * Stores a model that has been read, as above.
   *
   * @throws Failure if a quota or the memory does not suffice; nothing is stored then
   */
  public StoredModel put(String name, ModelDefinition definition, RequestContext context) {
    if (!FORM.matcher(name).matches()) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "name",
          "the name is \"%s\"; a name has 1 to 64 letters, digits, periods, hyphens and underscores and begins with a letter or a digit"
              .formatted(Tensors.excerpt(name)));
    }
    if (catalogue.find(name).isPresent() || name.equals(STATISTICS)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "name",
          "the name \"%s\" is %s; choose another name"
              .formatted(name, name.equals(STATISTICS) ? "reserved" : "that of an op"));
    }
    var key = new Key(context.tenant(), name);
    if (!models.containsKey(key) && list(context.tenant()).size() >= MOST_MODELS) {
      throw new Failure.Busy(
          Code.QUOTA_EXCEEDED,
          "Quota exceeded by another model: %d are stored, which is the limit. Delete models."
              .formatted(MOST_MODELS),
          RETRY);
    }
    var model =
        new StoredModel(
            name,
            versions.incrementAndGet(),
            clock.instant(),
            definition,
            catalogue,
            store,
            transfers);
    try {
      model.load(context);
    } catch (RuntimeException e) {
      model.unload(context);
      throw e;
    }
    var before = models.put(key, model);
    if (before != null) {
      before.unload(context);
    }
    return model;
  }

  /**
   * Returns a model of a tenant.
   *
   * @throws Failure.Refused with {@code not-found}
   */
  public StoredModel get(Tenant tenant, String name) {
    return find(tenant, name)
        .orElseThrow(() ->
            new Failure.Refused(
                Code.NOT_FOUND,
                "There is no model \"%s\". GET /models lists all models."
                    .formatted(Tensors.excerpt(name))));
  }

  /** Returns a model of a tenant; empty if there is none with this name. */
  public Optional<StoredModel> find(Tenant tenant, String name) {
    return Optional.ofNullable(models.get(new Key(tenant, name)));
  }

  /** Returns whether a model has neither been deleted nor replaced. */
  public boolean isStored(Tenant tenant, StoredModel model) {
    return models.get(new Key(tenant, model.name())) == model;
  }

  /** Returns the models of a tenant by name. */
  public List<StoredModel> list(Tenant tenant) {
    return models.entrySet().stream()
        .filter(entry -> entry.getKey().tenant.equals(tenant))
        .map(Map.Entry::getValue)
        .sorted(Comparator.comparing(StoredModel::name))
        .toList();
  }

  /**
   * Deletes a model and its weights.
   *
   * @throws Failure.Refused with {@code not-found}
   */
  public void delete(String name, RequestContext context) {
    var model = get(context.tenant(), name);
    models.remove(new Key(context.tenant(), name), model);
    model.unload(context);
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
    var model = get(context.tenant(), name);
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
    requireOutputs(model, targets);
    try {
      return startOnce(model, inputs, targets, context, runner);
    } catch (Failure.Refused e) {
      if (e.code() != Code.UNKNOWN_HANDLE) {
        throw e;
      }
      // a weight may have been deleted, lost with a device, or replaced together with the model
      model.forgetMissing(context);
      return startOnce(get(context.tenant(), model.name()), inputs, targets, context, runner);
    }
  }

  /**
   * Checks the names of outputs.
   *
   * @throws Failure.Refused if the model has no such output
   */
  public static void requireOutputs(StoredModel model, Map<String, Target> targets) {
    for (var output : targets.keySet()) {
      if (!model.definition().outputs().contains(output)) {
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            "outputs." + Tensors.excerpt(output),
            "the model has no output \"%s\"; its outputs are: %s"
                .formatted(
                    Tensors.excerpt(output), String.join(", ", model.definition().outputs())));
      }
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
