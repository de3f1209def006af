package dev.athanor.service.session;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.model.ModelCall;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import dev.athanor.service.stream.RequestContext;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Generates tokens with a model, for all requests together: each run reads the next tokens of as
 * many sessions as there are and draws the tokens after them. Requests join and leave between runs.
 */
final class DecodeLoop {

  /** The output with the logits after the last position of each sequence. */
  static final String NEXT = "next";

  /** The op that draws tokens. */
  static final String SAMPLE = "sample";

  /** Maximum number of tokens of a prompt that one run reads, so that other requests go on. */
  private static final int MOST_TOKENS = 256;

  /** Maximum number of sequences in a run. */
  private static final int MOST_ROWS = 32;

  private final StoredModel model;
  private final CachePool pool;
  private final OpRunner runner;
  private final Op sample;
  private final String tokens;
  private final Consumer<Generation> ended;
  private final List<Generation> waiting = new ArrayList<>();
  private boolean running;

  /**
   * @param ended called with each request that has ended, before its last event is sent
   */
  DecodeLoop(
      StoredModel model,
      CachePool pool,
      OpRunner runner,
      Catalogue catalogue,
      Consumer<Generation> ended) {
    this.model = model;
    this.pool = pool;
    this.runner = runner;
    this.ended = ended;
    sample = catalogue.find(SAMPLE).orElseThrow();
    tokens = model.definition().inputs().getFirst().name();
  }

  /** Adds a request. */
  synchronized void add(Generation generation) {
    waiting.add(generation);
    if (!running) {
      running = true;
      Thread.ofVirtual().name("generate " + model.name()).start(this::loop);
    }
  }

  private void loop() {
    var active = new ArrayList<Generation>();
    try {
      while (admit(active)) {
        step(active);
      }
    } catch (RuntimeException | Error e) { // nobody may wait for ever
      var failure = DeviceHealth.internal(new IllegalStateException("the loop has ended", e));
      synchronized (this) {
        running = false;
        active.addAll(waiting);
        waiting.clear();
      }
      active.forEach(each -> each.finish(new Generation.Event.Failed(failure)));
      throw e;
    }
  }

  private void step(List<Generation> active) {
    active.stream()
        .filter(each -> each.piece(MOST_TOKENS) > 1)
        .findFirst()
        .ifPresent(each -> run(List.of(each), each.piece(MOST_TOKENS)));
    var rows = active.stream().filter(each -> each.piece(MOST_TOKENS) == 1).toList();
    for (int i = 0; i < rows.size(); i += MOST_ROWS) {
      run(rows.subList(i, Math.min(i + MOST_ROWS, rows.size())), 1);
    }
  }

  /** Lets requests join and leave. Returns whether there are any. */
  private boolean admit(List<Generation> active) {
    active.removeIf(this::leave);
    synchronized (this) {
      active.addAll(waiting);
      waiting.clear();
      running = !active.isEmpty();
      return running;
    }
  }

  private boolean leave(Generation generation) {
    var last = generation.last();
    last.ifPresent(event -> {
      ended.accept(generation);
      generation.finish(event);
    });
    return last.isPresent();
  }

  /** Reads the next tokens of sequences, equally many of each, and draws tokens. */
  private void run(List<Generation> rows, int positions) {
    var ready = new ArrayList<Generation>();
    for (var row : rows) {
      try {
        row.session().reserve(positions);
        ready.add(row);
      } catch (Failure e) {
        row.fail(e);
      }
    }
    if (ready.isEmpty()) {
      return;
    }
    ready.sort(Comparator.comparingInt(row -> row.request().sampling().hashCode()));
    try {
      var drawn = draw(ready, positions);
      for (int i = 0; i < ready.size(); i++) {
        ready.get(i).read(positions, drawn[i]);
      }
    } catch (Failure e) {
      ready.forEach(row -> row.fail(e));
    } catch (RuntimeException e) {
      var failure = DeviceHealth.internal(e);
      ready.forEach(row -> row.fail(failure));
    }
  }

  private long[] draw(List<Generation> rows, int positions) {
    try {
      return runOnce(rows, positions);
    } catch (Failure.Refused e) {
      if (e.code() != Failure.Code.UNKNOWN_HANDLE) {
        throw e;
      }
      model.forgetMissing(context(rows)); // a weight may have been deleted
      return runOnce(rows, positions);
    }
  }

  private static RequestContext context(List<Generation> rows) {
    return rows.getFirst()
        .context()
        .shared(rows.stream().mapToInt(row -> row.context().priority()).min().orElseThrow())
        .withRowInvariance(rows.stream().anyMatch(row -> row.context().rowInvariant()));
  }

  /** Returns the tokens that follow; undefined for sequences that need none. */
  private long[] runOnce(List<Generation> rows, int positions) {
    int padded = Integer.highestOneBit(2 * rows.size() - 1); // few shapes to compile
    var lengths = new ArrayList<Integer>();
    var blocks = new ArrayList<List<Integer>>();
    var read = new long[padded * positions];
    for (int i = 0; i < padded; i++) {
      boolean pads = i >= rows.size();
      lengths.add(pads ? 0 : rows.get(i).session().length() + positions);
      blocks.add(pads ? List.of() : rows.get(i).session().blocks());
      if (!pads) {
        System.arraycopy(rows.get(i).head(positions), 0, read, i * positions, positions);
      }
    }
    var inputs = new LinkedHashMap<>(pool.inputs(lengths, blocks));
    inputs.put(tokens, integers(read, List.of((long) padded, (long) positions)));
    var targets = new LinkedHashMap<>(pool.targets());
    boolean draws = rows.stream().anyMatch(row -> row.isDrawnAfter(positions));
    if (draws) {
      targets.put(NEXT, Target.INLINE);
    }
    var call = model.call(inputs, targets, context(rows));
    var drawn = new long[padded];
    if (draws) {
      var samples = new Samples(call, rows, padded);
      samples.take(runner.run(samples.pipeline()), drawn);
    } else {
      runner.run(call.pipeline());
    }
    return drawn;
  }

  private static Call.Input integers(long[] values, List<Long> shape) {
    var tensor = HostTensor.zeros(new TensorType(DType.I64, new Shape(shape)));
    for (int i = 0; i < values.length; i++) {
      tensor.data().set(ValueLayout.JAVA_LONG_UNALIGNED, (long) i * Long.BYTES, values[i]);
    }
    return new Call.Input.Inline(tensor);
  }

  /** The steps that draw tokens: one for the consecutive rows of each way of sampling. */
  private final class Samples {
    private final ModelCall call;
    private final Map<String, Call.Input> inputs;
    private final List<Pipeline.Step> steps;
    private final Map<String, Target> outputs;
    private final Map<String, Integer> firstRows = new LinkedHashMap<>();

    Samples(ModelCall call, List<Generation> rows, int padded) {
      this.call = call;
      inputs = new LinkedHashMap<>(call.pipeline().inputs());
      steps = new ArrayList<>(call.pipeline().steps());
      outputs = new LinkedHashMap<>(call.pipeline().outputs());
      outputs.remove(call.step(NEXT));
      for (int from = 0; from < rows.size(); ) {
        var sampling = rows.get(from).request().sampling();
        int to = from + 1;
        while (to < rows.size() && rows.get(to).request().sampling().equals(sampling)) {
          to++;
        }
        add(rows.subList(from, to), from, to == rows.size() ? padded : to, sampling);
        from = to;
      }
    }

    private void add(List<Generation> rows, int from, int to, Map<String, ?> sampling) {
      var seeds = new long[to - from];
      var counters = new long[to - from];
      for (int i = 0; i < rows.size(); i++) {
        seeds[i] = rows.get(i).request().seed();
        counters[i] = rows.get(i).generated();
      }
      var shape = List.of((long) to - from);
      var seed = "seed:" + from;
      var counter = "counter:" + from;
      var token = "token:" + from;
      inputs.put(seed, integers(seeds, shape));
      inputs.put(counter, integers(counters, shape));
      long vocabulary = call.type(NEXT).shape().extent(-1);
      var view = new Call.View(List.of((long) to - from, vocabulary), from * vocabulary, null);
      steps.add(
          new Pipeline.Step(
              sample,
              Map.of("logits", call.step(NEXT), "seed", seed, "counter", counter),
              Map.of("logits", view),
              sampling,
              Map.of("token", token)));
      outputs.put(token, Target.INLINE);
      firstRows.put(token, from);
    }

    Pipeline pipeline() {
      return new Pipeline(inputs, steps, outputs, call.pipeline().context());
    }

    /** Copies the tokens of a result to those of the rows. */
    void take(Result result, long[] drawn) {
      firstRows.forEach((token, from) -> {
        var tensor =
            ((Result.Output.Inline) Objects.requireNonNull(result.outputs().get(token))).tensor();
        for (int i = 0; i < tensor.type().shape().elements(); i++) {
          drawn[from + i] =
              tensor.data().get(ValueLayout.JAVA_LONG_UNALIGNED, (long) i * Long.BYTES);
        }
      });
    }
  }
}
