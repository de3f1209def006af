package dev.athanor.service.openinference;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.TensorStore;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The ops as models: metadata, statistics and inference. */
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
  private final OpRunner runner;
  private final TensorStore store;
  private final DeviceHealth health;
  private final InstantSource clock;
  private final String version;

  /** Statistics by op name; bounded by the number of ops. */
  private final Map<String, ModelStatistics> statistics = new ConcurrentHashMap<>();

  /**
   * Creates the models of a catalog.
   *
   * @param version the version of the server
   */
  public Models(
      Catalogue catalogue,
      OpRunner runner,
      TensorStore store,
      DeviceHealth health,
      InstantSource clock,
      String version) {
    this.catalogue = catalogue;
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

  /** Returns all models. */
  public List<Model> all() {
    return catalogue.all().stream().map(op -> Model.of(op.description())).toList();
  }

  /**
   * Returns all models with their states.
   *
   * @param readyOnly whether to return only ready models
   */
  public List<ModelState> index(boolean readyOnly) {
    boolean ready = isReady();
    return ready || !readyOnly
        ? catalogue.all().stream().map(op -> ModelState.of(op.description().name(), ready)).toList()
        : List.of();
  }

  /** Describes a model. */
  public Model describe(String name, @Nullable String modelVersion) {
    return Model.of(find(name, modelVersion).description());
  }

  /**
   * Returns the op of a model.
   *
   * @param modelVersion null or empty for any
   * @throws Failure.Refused with {@code unknown-op} if the model or the version does not exist
   */
  public Op find(String name, @Nullable String modelVersion) {
    var op =
        catalogue
            .find(name)
            .orElseThrow(() ->
                new Failure.Refused(
                    Code.UNKNOWN_OP,
                    "Unknown model \"%s\". GET /v2/models lists all models."
                        .formatted(Tensors.excerpt(name))));
    if (modelVersion != null && !modelVersion.isEmpty() && !modelVersion.equals(Model.VERSION)) {
      throw new Failure.Refused(
          Code.UNKNOWN_OP,
          "%s has no version \"%s\"; its only version is %s"
              .formatted(name, Tensors.excerpt(modelVersion), Model.VERSION));
    }
    return op;
  }

  /**
   * Starts a model.
   *
   * @param context the context, which the request's parameters may restrict
   * @return waits for the result; must be called
   * @throws Failure if the request is invalid, cannot be served now, or fails
   */
  public Supplier<Inference> start(Op op, InferenceRequest request, RequestContext context) {
    var call = Calls.of(op, request, store.of(context.tenant()), context);
    var name = op.description().name();
    long asked = System.nanoTime();
    var run = counting(name, asked, () -> runner.start(call));
    return () -> {
      var result = counting(name, asked, run);
      count(name, known -> known.succeeded(clock.millis(), result));
      return Inference.of(result);
    };
  }

  /** Runs a model and waits for its result; see {@link #start}. */
  public Inference infer(Op op, InferenceRequest request, RequestContext context) {
    return start(op, request, context).get();
  }

  /** Does work of an inference and counts its failure. */
  private <T> T counting(String name, long asked, Supplier<T> work) {
    try {
      return work.get();
    } catch (Failure e) {
      double micros = (System.nanoTime() - asked) / 1e3;
      count(name, known -> known.failed(clock.millis(), micros));
      throw e;
    }
  }

  private void count(String name, UnaryOperator<ModelStatistics> more) {
    statistics.compute(
        name, (_, known) -> more.apply(known == null ? ModelStatistics.none(name) : known));
  }

  /** Returns the statistics of a model. */
  public ModelStatistics statistics(String name, @Nullable String modelVersion) {
    var known = find(name, modelVersion).description().name();
    return Objects.requireNonNullElseGet(statistics.get(known), () -> ModelStatistics.none(known));
  }

  /** Returns the statistics of all models. */
  public List<ModelStatistics> statistics() {
    return catalogue.all().stream().map(op -> statistics(op.description().name(), null)).toList();
  }
}
