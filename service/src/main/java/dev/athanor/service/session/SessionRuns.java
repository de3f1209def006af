package dev.athanor.service.session;

import dev.athanor.models.ModelDefinition.State;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.CallTypes;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Calls of sessions, and copies of them. */
public final class SessionRuns {

  private final Sessions sessions;
  private final StoredModels models;
  private final OpRunner runner;
  private final Catalogue catalogue;
  private final TensorStore store;

  public SessionRuns(
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
   * Calls the model of a session, which reads and updates its state. A call that fails changes
   * nothing.
   *
   * @param given the inputs of the model by name, but not its state
   * @param targets where outputs go, by name; all inline if empty
   * @throws Failure if the inputs do not suit the model, or the run fails
   */
  public Result run(
      Session session,
      Map<String, Call.Input> given,
      Map<String, Target> targets,
      RequestContext context) {
    for (var state : session.model().checked(targets).definition().states()) {
      refuseState(given, "inputs." + state.input(), state.input());
      refuseState(targets, "outputs." + state.output(), state.output());
    }
    session.enter();
    try {
      return advance(session, given, targets, context);
    } finally {
      sessions.leave(session);
    }
  }

  private static void refuseState(Map<String, ?> given, String field, String name) {
    if (given.containsKey(name)) {
      throw new Failure.Refused(
          Code.UNKNOWN_FIELD,
          field,
          "%s is part of the session's state; remove it".formatted(field));
    }
  }

  private Result advance(
      Session session,
      Map<String, Call.Input> given,
      Map<String, Target> targets,
      RequestContext context) {
    var model = session.model();
    var asked = new LinkedHashMap<>(targets);
    if (asked.isEmpty()) {
      var states = model.definition().states().stream().map(State::output).toList();
      model.definition().outputs().stream()
          .filter(output -> !states.contains(output))
          .forEach(output -> asked.put(output, Target.INLINE));
    }
    var outputs = List.copyOf(asked.keySet());
    var inputs = new LinkedHashMap<>(given);
    var pool = session.pool();
    int positions = pool == null ? 0 : positions(session, given, context);
    session.reserve(positions);
    if (pool != null) {
      inputs.putAll(pool.inputs(List.of(session.length() + positions), List.of(session.blocks())));
      asked.putAll(pool.targets());
    }
    var before = session.carried();
    before.forEach((state, tensor) -> {
      inputs.put(state.input(), new Call.Input.Resident(tensor.handle()));
      asked.put(state.output(), kept(session, state));
    });
    var result = models.run(model, inputs, asked, context, runner::run);
    session.advance(positions);
    before.forEach((state, tensor) -> {
      session.carry(state, made(result, state.output()));
      store.of(session.tenant()).delete(tensor.handle());
    });
    var returned = new LinkedHashMap<String, Result.Output>();
    outputs.forEach(name -> returned.put(name, Objects.requireNonNull(result.outputs().get(name))));
    return new Result(
        result.device(), result.steps(), returned, result.timing(), result.batchSize());
  }

  /** Returns the number of positions of a call: the second extent of the model's first input. */
  private int positions(Session session, Map<String, Call.Input> given, RequestContext context) {
    var first = session.model().definition().inputs().getFirst();
    var type = CallTypes.of(given, store.of(context.tenant())).get(first.name());
    if (type == null) {
      throw new Failure.Refused(
          Code.MISSING_INPUT,
          "inputs." + first.name(),
          "inputs.%s is missing; the model requires %s".formatted(first.name(), first));
    }
    if (type.shape().rank() < 2 || type.shape().extent(0) != 1 || type.shape().elements() == 0) {
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          "inputs." + first.name(),
          "inputs.%s is %s; a session has one sequence, so its shape must be [1, positions]"
              .formatted(first.name(), type));
    }
    return Math.toIntExact(type.shape().extent(1));
  }

  /**
   * Begins a session with the state of another. They share the blocks that are full.
   *
   * @throws Failure if a quota or the memory does not suffice
   */
  public Session fork(Session session, RequestContext context) {
    session.enter();
    try {
      var fork = sessions.open(session.model(), session.pool(), session.lease(), context);
      try {
        copy(session, fork, context);
        return fork;
      } catch (RuntimeException e) {
        sessions.delete(fork);
        throw e;
      }
    } finally {
      sessions.leave(session);
    }
  }

  private void copy(Session from, Session to, RequestContext context) {
    int length = from.length();
    var blocks = from.blocks();
    int full = length / CachePool.BLOCK;
    to.share(blocks.subList(0, full));
    to.reserve(length); // beside the full blocks, one for the positions that are left
    to.advance(length);
    var inputs = new LinkedHashMap<String, Call.Input>();
    var steps = new ArrayList<Pipeline.Step>();
    var targets = new LinkedHashMap<String, Target>();
    var pool = from.pool();
    if (pool != null && full * CachePool.BLOCK < length) {
      int last = blocks.get(full);
      inputs.put("at", CachePool.integers(new int[] {to.blocks().get(full)}, List.of()));
      for (var state : pool.states()) {
        long block = state.heads() * CachePool.BLOCK * state.size();
        var shape = List.of(1L, state.heads(), (long) CachePool.BLOCK, state.size());
        var part = new Call.View(shape, last * block, null);
        var copied = "block of " + state.input();
        var written = "cache of " + state.input();
        var handle = pool.handle(state);
        steps.add(copy(handle, Map.of("x0", part), copied));
        steps.add(
            new Pipeline.Step(
                op("copy"),
                Map.of("into", handle, "x", copied, "at", "at"),
                Map.of(),
                Map.of("y", written)));
        targets.put(written, pool.into(state));
      }
    }
    var kept = new HashMap<String, State.Carried>();
    from.carried()
        .forEach((state, tensor) -> {
          var copied = "copy of " + state.input();
          steps.add(copy(tensor.handle(), Map.of(), copied));
          targets.put(copied, kept(to, state));
          kept.put(copied, state);
        });
    if (!steps.isEmpty()) {
      var result = runner.run(new Pipeline(inputs, steps, targets, context));
      kept.forEach((copied, state) -> to.carry(state, made(result, copied)));
    }
  }

  private Pipeline.Step copy(String handle, Map<String, Call.View> views, String output) {
    return new Pipeline.Step(
        op("map"), Map.of("x0", handle), views, Map.of("expression", "x"), Map.of("y", output));
  }

  private Op op(String name) {
    return catalogue.find(name).orElseThrow();
  }

  private static Target kept(Session session, State state) {
    return new Target(new Destination.Keep(Sessions.options(session, state)), null);
  }

  private static TensorInfo made(Result result, String output) {
    return ((Result.Output.Resident) Objects.requireNonNull(result.outputs().get(output))).info();
  }
}
