package dev.athanor.service.openinference;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.ModelId;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorStore;
import java.time.InstantSource;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Ops and stored models: metadata, statistics and inference. */
public final class Models {

  /** The name of the server. */
  public static final String SERVER = "athanor";

  /** The supported extensions of the protocol. */
  public static final List<String> EXTENSIONS =
      List.of(
          "binary_tensor_data",
          "datatypes_ext",
          "model_configuration",
          "parameters",
          "statistics",
          "tensor_handle");

  private final Catalogue catalogue;
  private final StoredModels stored;
  private final OpRunner runner;
  private final TensorStore store;
  private final DeviceHealth health;
  private final InstantSource clock;
  private final String version;

  /** Statistics by what they count; they end with the stored model. */
  private final Map<Object, ModelStatistics> statistics =
      Collections.synchronizedMap(new WeakHashMap<>());

  /**
   * Creates the models: the ops of a catalog, and those that tenants stored.
   *
   * @param version the version of the server
   */
  public Models(
      Catalogue catalogue,
      StoredModels stored,
      OpRunner runner,
      TensorStore store,
      DeviceHealth health,
      InstantSource clock,
      String version) {
    this.catalogue = catalogue;
    this.stored = stored;
    this.runner = runner;
    this.store = store;
    this.health = health;
    this.clock = clock;
    this.version = version;
  }

  /** Returns the version of the server. */
  public String version() {
    return version;
  }

  /** Whether inference requests are accepted. */
  public boolean isReady() {
    return health.isReady();
  }

  /** Returns all models that a tenant can call: the ops and its stored models, by name. */
  public List<ServedModel> all(Tenant tenant) {
    return Stream.<ServedModel>concat(
            catalogue.all().stream().map(OpModel::new),
            stored.list(tenant).stream().map(model -> new TenantModel(model, stored)))
        .sorted(Comparator.comparing(ServedModel::name))
        .toList();
  }

  /**
   * Returns all models with their states.
   *
   * @param readyOnly whether to return only ready models
   */
  public List<ModelState> index(Tenant tenant, boolean readyOnly) {
    boolean ready = isReady();
    return ready || !readyOnly
        ? all(tenant).stream().map(model -> ModelState.of(model, ready)).toList()
        : List.of();
  }

  /**
   * Returns a model. Stored models have no names of ops.
   *
   * @param modelVersion null or empty for any
   * @throws Failure.Refused with {@code unknown-op} if the model or the version does not exist
   */
  public ServedModel find(Tenant tenant, String name, @Nullable String modelVersion) {
    var op = catalogue.find(name);
    if (op.isPresent()) {
      var model = new OpModel(op.get());
      var known = List.of(model.version());
      if (lacks(known, modelVersion)) {
        throw new Failure.Refused(Code.UNKNOWN_OP, noVersion(name, modelVersion, known));
      }
      return model;
    }
    var reference = ModelId.reference(name, modelVersion);
    var known = stored.versions(tenant, name).stream().map(String::valueOf).toList();
    if (!known.isEmpty() && lacks(known, modelVersion)) {
      throw ModelId.unknown(Code.UNKNOWN_OP, noVersion(name, modelVersion, known), reference);
    }
    return stored
        .find(tenant, name, modelVersion)
        .map(model -> new TenantModel(model, stored))
        .orElseThrow(() ->
            ModelId.unknown(
                Code.UNKNOWN_OP,
                "Unknown model \"%s\". GET /v2/models lists all models."
                    .formatted(Tensors.excerpt(name)),
                reference));
  }

  private static boolean lacks(List<String> known, @Nullable String version) {
    return version != null && !version.isEmpty() && !known.contains(version);
  }

  private static String noVersion(String name, @Nullable String version, List<String> known) {
    return "%s has no version \"%s\"; %s"
        .formatted(
            name,
            Tensors.excerpt(String.valueOf(version)),
            known.size() == 1
                ? "its only version is " + known.getFirst()
                : "its versions are " + String.join(", ", known));
  }

  /**
   * Returns the metric label of requests to a model. Unknown names share one label, so that clients
   * cannot create metrics.
   */
  public String label(Tenant tenant, String name) {
    if (catalogue.find(name).isPresent()) {
      return name;
    }
    return stored.find(tenant, name, null).isPresent() ? OpRunner.PIPELINE : "unknown";
  }

  /**
   * Starts a model.
   *
   * @param context the context, which the request's parameters may restrict
   * @return waits for the result; must be called
   * @throws Failure if the request is invalid, cannot be served now, or fails
   */
  public Supplier<Inference> start(
      ServedModel model, InferenceRequest request, RequestContext context) {
    var arguments = Calls.of(model, request, store.of(context.tenant()), context);
    long asked = System.nanoTime();
    var run = counting(model, asked, () -> model.start(arguments, runner));
    return () -> {
      var result = counting(model, asked, run);
      count(model, known -> known.succeeded(clock.millis(), result));
      return Inference.of(model, result);
    };
  }

  /** Runs a model and waits for its result; see {@link #start}. */
  public Inference infer(ServedModel model, InferenceRequest request, RequestContext context) {
    return start(model, request, context).get();
  }

  /** Does work of an inference and counts its failure. */
  private <T> T counting(ServedModel model, long asked, Supplier<T> work) {
    try {
      return work.get();
    } catch (Failure e) {
      double micros = (System.nanoTime() - asked) / 1e3;
      count(model, known -> known.failed(clock.millis(), micros));
      throw e;
    }
  }

  private void count(ServedModel model, UnaryOperator<ModelStatistics> more) {
    statistics.compute(
        model.counted(),
        (_, known) -> more.apply(known == null ? ModelStatistics.none(model) : known));
  }

  /** Returns the statistics of a model. */
  public ModelStatistics statistics(Tenant tenant, String name, @Nullable String modelVersion) {
    return statistics(find(tenant, name, modelVersion));
  }

  private ModelStatistics statistics(ServedModel model) {
    return Objects.requireNonNullElseGet(
        statistics.get(model.counted()), () -> ModelStatistics.none(model));
  }

  /** Returns the statistics of all models that a tenant can call. */
  public List<ModelStatistics> statistics(Tenant tenant) {
    return all(tenant).stream().map(this::statistics).toList();
  }
}
