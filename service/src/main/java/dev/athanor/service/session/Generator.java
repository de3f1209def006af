package dev.athanor.service.session;

import dev.athanor.models.ModelDefinition.State;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.TensorStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** Generates tokens with the models of all tenants. */
public final class Generator {

  /** The lease of a session for a single request, which deletes it. */
  private static final Duration UNUSED = Duration.ofHours(1);

  private final Sessions sessions;
  private final StoredModels models;
  private final OpRunner runner;
  private final Catalogue catalogue;
  private final TensorStore store;
  private final Map<CachePool, DecodeLoop> loops = new ConcurrentHashMap<>();

  public Generator(
      Sessions sessions,
      StoredModels models,
      OpRunner runner,
      Catalogue catalogue,
      TensorStore store) {
    this.sessions = sessions;
    this.models = models;
    this.runner = runner;
    this.catalogue = catalogue;
    this.store = store;
  }

  /**
   * Generates tokens after those of a session, which contains them afterwards.
   *
   * @throws Failure if the model is not a decoder of tokens, or the session is in use
   */
  public Generation generate(Session session, Generation.Request request, RequestContext context) {
    check(session.model(), request);
    session.enter();
    var generation = new Generation(session, request, context);
    loop(session).add(generation);
    return generation;
  }

  /**
   * Generates tokens in a session of its own.
   *
   * @throws Failure if the model is not a decoder of tokens, or a quota or the memory does not
   *     suffice
   */
  public Generation generate(String modelName, Generation.Request request, RequestContext context) {
    check(models.get(context.tenant(), modelName), request);
    var session = sessions.create(modelName, UNUSED, context);
    session.closeAfterUse();
    return generate(session, request, context);
  }

  private DecodeLoop loop(Session session) {
    var pool = Objects.requireNonNull(session.pool());
    loops.keySet().removeIf(each -> !each.isIntact(store));
    return loops.computeIfAbsent(
        pool, _ -> new DecodeLoop(session.model(), pool, runner, catalogue, this::leave));
  }

  private void leave(Generation generation) {
    var session = generation.session();
    generation.restore();
    sessions.leave(session);
    if (session.isClosedAfterUse()) {
      sessions.delete(session);
    }
  }

  private void check(StoredModel model, Generation.Request request) {
    requireDecoder(model);
    requireKnown(model, request.tokens());
    var sample = catalogue.find(DecodeLoop.SAMPLE).orElseThrow().description();
    try {
      Attributes.of(sample, request.sampling());
    } catch (OpException e) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE, e.field(), Tensors.printable(String.valueOf(e.getMessage())));
    }
  }

  /** Requires tokens of the vocabulary, if the model declares its size. */
  private static void requireKnown(StoredModel model, List<Long> tokens) {
    var size =
        model
            .definition()
            .declared(DecodeLoop.NEXT)
            .map(next -> next.extents().getLast())
            .filter(extent -> extent.matches("\\d+"));
    for (int i = 0; size.isPresent() && i < tokens.size(); i++) {
      if (tokens.get(i) >= Long.parseLong(size.get())) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            "tokens[%d]".formatted(i),
            "tokens[%d] is %d; the model has the tokens 0 to %d"
                .formatted(i, tokens.get(i), Long.parseLong(size.get()) - 1));
      }
    }
  }

  private static void requireDecoder(StoredModel model) {
    var definition = model.definition();
    var inputs = definition.inputs();
    boolean generates =
        inputs.size() == 1
            && inputs.getFirst().dtype() == DType.I64
            && inputs.getFirst().extents().size() == 2
            && definition.outputs().contains(DecodeLoop.NEXT)
            && !definition.states().isEmpty()
            && definition.states().stream().allMatch(State.Cached.class::isInstance);
    if (!generates) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "model",
          "the model %s does not generate tokens; that requires one input i64[batch, positions], an output \"%s\" of logits, and cached keys and values"
              .formatted(model.name(), DecodeLoop.NEXT));
    }
  }
}
