package dev.athanor.service.model;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.models.graph.Graph;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A version of a model. Its weights are resident tensors of the tenant in a scope of their own.
 * They count toward the tenant's quotas.
 */
public final class StoredModel {

  /** Maximum number of graphs that are kept, each for other types of inputs. */
  public static final int MOST_GRAPHS = 64;

  /** Maximum elements of a constant that graphs rather compute with than read. */
  private static final int MOST_FOLDED = 64;

  private final String name;
  private final long version;
  private volatile ModelStorage.Metadata metadata;
  private final ModelDefinition definition;
  private final Catalogue catalogue;
  private final TensorStore store;
  private final Transfers transfers;

  /** The handles of the weights that are resident. */
  private final IdentityHashMap<HostTensor, String> handles = new IdentityHashMap<>();

  /** Graphs by what calls give and ask for, the one that was used last at the end. */
  private final Map<Key, Graph> graphs = new LinkedHashMap<>(MOST_GRAPHS, 0.75f, true);

  /** Null if calls do not share runs. */
  private final @Nullable ModelBatches batches;

  private boolean isDeleted;

  /** What a graph is made for. */
  private record Key(Map<String, TensorType> types, Set<String> outputs) {}

  StoredModel(
      String name,
      long version,
      ModelStorage.Metadata metadata,
      ModelDefinition definition,
      Catalogue catalogue,
      TensorStore store,
      Transfers transfers) {
    this.name = name;
    this.version = version;
    this.metadata = metadata;
    this.definition = definition;
    this.catalogue = catalogue;
    this.store = store;
    this.transfers = transfers;
    var range = metadata.extents().ranges().get(metadata.batch());
    batches = range == null ? null : new ModelBatches(this, range.max());
  }

  public String name() {
    return name;
  }

  public long version() {
    return version;
  }

  public Instant created() {
    return metadata.created();
  }

  /** Returns the extents that calls may choose. */
  public ExtentRanges extents() {
    return metadata.extents();
  }

  /** Returns the extent along which calls share runs; empty if they do not. */
  public String batch() {
    return metadata.batch();
  }

  @Nullable ModelBatches batches() {
    return batches;
  }

  /** Returns the ids of the replicas that got this version; null if it was only this one. */
  public @Nullable List<String> replicas() {
    return metadata.replicas().size() < 2 ? null : metadata.replicas();
  }

  ModelStorage.Metadata metadata() {
    return metadata;
  }

  void setReplicas(List<String> replicas) {
    metadata = new ModelStorage.Metadata(created(), extents(), batch(), replicas);
  }

  public ModelDefinition definition() {
    return definition;
  }

  /** Returns the size of the weights. */
  public long bytes() {
    return definition.weights().stream().mapToLong(weight -> weight.type().bytes()).sum();
  }

  /** Returns the scope of the weights, and of the caches of sessions. */
  public String scope() {
    return "model %s, version %d".formatted(name, version);
  }

  /**
   * Makes the weights resident that graphs are likely to read.
   *
   * @throws Failure if a quota or the memory does not suffice
   */
  synchronized void load(RequestContext context) {
    load(
        definition.weights().stream()
            .filter(weight -> weight.type().shape().elements() > MOST_FOLDED)
            .toList(),
        context);
  }

  /**
   * Plans the graphs of the smallest and the largest inputs, if the extents have ranges or no
   * names. Finds the resident tensors that graphs read, and checks the inputs of batches.
   *
   * @param limit maximum number of bytes of an input
   * @throws Failure.Refused if the model does not support them
   */
  synchronized void plan(long limit, RequestContext context) {
    extents().checkNames(definition.inputs());
    if (!batch().isEmpty()) {
      BatchCheck.inputs(this, batch());
    }
    var residents = CallTypes.residents(definition, store.of(context.tenant()));
    if (extents().areComplete(definition.inputs())) {
      plan(extents().lowest(definition.inputs()), residents, limit);
      plan(extents().highest(definition.inputs()), residents, limit);
    }
  }

  private void plan(Map<String, TensorType> given, Map<String, TensorType> residents, long limit) {
    try {
      for (var type : given.values()) {
        requireSize(type, limit);
      }
      var types = new LinkedHashMap<>(given);
      types.putAll(residents);
      graph(new Key(types, Set.copyOf(definition.outputs())));
    } catch (Failure.Refused e) {
      var field = e.field() == null ? ExtentRanges.FIELD : e.field();
      var planned =
          new Failure.Refused(
              e.code(), field, "with the inputs %s: %s".formatted(given, e.getMessage()));
      throw e.step() == null ? planned : planned.in(e.step());
    }
  }

  private static void requireSize(TensorType type, long limit) {
    boolean fits;
    try {
      fits = type.bytes() <= limit;
    } catch (ArithmeticException e) {
      fits = false;
    }
    if (!fits) {
      throw new Failure.Refused(
          Code.TOO_LARGE, "an input has more than %d bytes, which is the limit".formatted(limit));
    }
  }

  /** Makes weights resident that are not yet. */
  private void load(Iterable<HostTensor> weights, RequestContext context) {
    var tensors = store.of(context.tenant());
    var options = new TensorOptions(name, scope(), Duration.ZERO, null);
    for (var weight : weights) {
      if (!handles.containsKey(weight)) {
        var charge = tensors.charge(weight.type().bytes());
        try {
          var info = transfers.create(Elements.of(weight), charge, options, context);
          handles.put(weight, info.handle());
        } catch (IOException e) {
          throw new UncheckedIOException(e); // the elements are in memory
        }
      }
    }
  }

  /** Makes later calls load the weights that are no longer resident. */
  public synchronized void forgetMissing(RequestContext context) {
    handles.values().removeIf(handle -> !isResident(handle, context));
  }

  private boolean isResident(String handle, RequestContext context) {
    try {
      store.of(context.tenant()).describe(handle);
      return true;
    } catch (Failure.Refused e) {
      return false;
    }
  }

  /** Deletes all tensors of the scope. Runs that read them finish; later calls fail. */
  synchronized void delete(RequestContext context) {
    isDeleted = true;
    graphs.clear();
    handles.clear();
    store.of(context.tenant()).deleteScope(scope());
  }

  private void delete(String handle, RequestContext context) {
    try {
      store.of(context.tenant()).delete(handle);
    } catch (Failure.Refused e) {
      // it has been deleted already
    }
  }

  /** Deletes the weights that no graph reads and the file does not store. */
  private void deleteUnread(RequestContext context) {
    var read = Collections.<HostTensor>newSetFromMap(new IdentityHashMap<>());
    read.addAll(definition.weights());
    graphs.values().forEach(graph -> read.addAll(graph.weights().values()));
    var unread = handles.keySet().stream().filter(weight -> !read.contains(weight)).toList();
    unread.forEach(weight -> delete(Objects.requireNonNull(handles.remove(weight)), context));
  }

  /**
   * Checks the types of a call's inputs.
   *
   * @throws Failure.Refused if they do not suit the model
   */
  void check(Map<String, TensorType> types) {
    extents().check(definition.inputs(), types);
    try {
      ModelDefinition.check(definition.inputs(), types);
    } catch (ModelException e) {
      throw ModelFailures.explain(e);
    }
  }

  /**
   * Returns the pipeline of a call.
   *
   * @param given inputs by name
   * @param targets where outputs go, by name; all inline if empty
   * @throws Failure.Refused if the inputs do not suit the model; with {@code unknown-handle} if it
   *     has been deleted
   */
  public synchronized ModelCall call(
      Map<String, Call.Input> given, Map<String, Target> targets, RequestContext context) {
    if (isDeleted) {
      throw new Failure.Refused(Code.UNKNOWN_HANDLE, "The %s has been deleted.".formatted(scope()));
    }
    var asked = targets.isEmpty() ? Set.copyOf(definition.outputs()) : Set.copyOf(targets.keySet());
    var types = CallTypes.of(given, store.of(context.tenant()));
    extents().check(definition.inputs(), types);
    CallTypes.residents(definition, store.of(context.tenant()))
        .forEach((tensor, type) -> {
          if (types.put(tensor, type) != null) {
            throw new Failure.Refused(
                Code.UNKNOWN_FIELD,
                "inputs." + tensor,
                "inputs.%s is a weight of the model; remove it".formatted(tensor));
          }
        });
    var graph = graph(new Key(types, asked));
    if (graphs.size() > MOST_GRAPHS) {
      graphs.remove(graphs.keySet().iterator().next());
      deleteUnread(context);
    }
    load(graph.weights().values(), context);
    var named = namedAsOutputs(graph);
    var inputs = new LinkedHashMap<String, Call.Input>();
    var steps = new ArrayList<Pipeline.Step>();
    for (var step : graph.steps()) {
      var from = new HashMap<String, String>();
      var views = new HashMap<String, Call.View>();
      step.inputs()
          .forEach((input, source) -> {
            var weight = graph.weights().get(source.name());
            var read = given.get(source.name());
            var resident = definition.residents().get(source.name());
            if (resident != null) {
              inputs.put(source.name(), new Call.Input.Resident(resident));
            } else if (read != null) {
              inputs.put(source.name(), read);
            }
            from.put(
                input,
                weight == null
                    ? named.getOrDefault(source.name(), source.name())
                    : Objects.requireNonNull(handles.get(weight)));
            views.put(input, new Call.View(source.shape().extents(), null, null));
          });
      var op = catalogue.find(step.op()).orElseThrow();
      var produced = new LinkedHashMap<>(step.outputs());
      produced.replaceAll((_, name) -> named.getOrDefault(name, name));
      steps.add(new Pipeline.Step(op, from, views, step.attributes(), produced));
    }
    var outputs = new LinkedHashMap<String, Target>();
    var results = new LinkedHashMap<String, Graph.Output>();
    graph
        .outputs()
        .forEach((output, where) -> {
          var name = named.getOrDefault(where.step(), where.step());
          outputs.put(name, targets.getOrDefault(output, Target.INLINE));
          results.put(output, new Graph.Output(name, where.type()));
        });
    return new ModelCall(new Pipeline(inputs, steps, outputs, context), results);
  }

  /**
   * Returns the names of the model's outputs by those that steps have, so that errors name them.
   * Names that are taken or do not suit a pipeline are left out.
   */
  private static Map<String, String> namedAsOutputs(Graph graph) {
    var taken = new HashSet<>(graph.inputs().keySet());
    graph.steps().forEach(step -> taken.addAll(step.outputs().values()));
    var named = new HashMap<String, String>();
    graph
        .outputs()
        .forEach((output, where) -> {
          if (!taken.contains(output) && Tensors.isLabel(output) && !Handles.isHandle(output)) {
            named.put(where.step(), output);
          }
        });
    return named;
  }

  /**
   * Returns this model if it has all outputs that are asked for.
   *
   * @throws Failure.Refused if it does not
   */
  public StoredModel checked(Map<String, Target> targets) {
    for (var output : targets.keySet()) {
      if (!definition.outputs().contains(output)) {
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            "outputs." + Tensors.excerpt(output),
            "the model has no output \"%s\"; its outputs are: %s"
                .formatted(Tensors.excerpt(output), String.join(", ", definition.outputs())));
      }
    }
    return this;
  }

  private Graph graph(Key key) {
    var known = graphs.get(key);
    if (known != null) {
      return known;
    }
    try {
      var graph = definition.fused(key.types, key.outputs);
      if (graph.steps().size() > Pipeline.MAX_STEPS) {
        throw new Failure.Refused(
            Code.TOO_LARGE,
            "the model has %d steps; the limit is %d"
                .formatted(graph.steps().size(), Pipeline.MAX_STEPS));
      }
      graphs.put(key, graph);
      return graph;
    } catch (ModelException e) {
      throw ModelFailures.explain(e);
    }
  }
}
