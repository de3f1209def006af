package dev.athanor.service.model;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Result;
import dev.athanor.service.stream.RequestContext;
import io.opentelemetry.context.Context;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Lets calls of a model share runs: while one run is in progress, calls collect, and the next run
 * takes as many as fit. Their rows are concatenated, and those of the outputs divided. If a shared
 * run fails, its calls run one by one.
 */
final class ModelBatches {

  /** Intervals between looks whether a client that waits has disconnected. */
  private static final long FIRST_CHECK = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long LAST_CHECK = TimeUnit.SECONDS.toNanos(1);

  private final StoredModel model;
  private final long most;
  private final List<Waiting> waiting = new ArrayList<>();
  private boolean running;

  /** Runs the model. */
  interface Run {
    /**
     * Runs it for one call or several.
     *
     * @param calls the number of calls
     */
    Result run(
        Map<String, Call.Input> inputs,
        Map<String, Target> targets,
        RequestContext context,
        int calls);
  }

  /**
   * What calls have in common that may share a run.
   *
   * @param rows the types of one row of each input
   */
  private record Key(Map<String, TensorType> rows, Map<String, Target> targets) {}

  /**
   * Creates the batches of a model.
   *
   * @param most maximum number of rows of a run
   */
  ModelBatches(StoredModel model, long most) {
    this.model = model;
    this.most = most;
  }

  /** Returns whether a call may share a run: its tensors are part of the request and response. */
  static boolean suits(Map<String, Call.Input> inputs, Map<String, Target> targets) {
    return inputs.values().stream().allMatch(Call.Input.Inline.class::isInstance)
        && targets.values().stream()
            .allMatch(target -> target.destination() instanceof Destination.Inline);
  }

  /**
   * Starts a call that {@linkplain #suits suits}.
   *
   * @return waits for the result; must be called
   * @throws Failure.Refused if the inputs do not suit the model
   */
  Supplier<Result> start(
      Map<String, Call.Input> inputs,
      Map<String, Target> targets,
      RequestContext context,
      Run run) {
    var tensors = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, input) -> tensors.put(name, ((Call.Input.Inline) input).tensor()));
    var types = HostTensor.types(tensors);
    model.check(types); // no call fails because of another's inputs
    var call = new Waiting(tensors, targets, types, context, run);
    synchronized (this) {
      waiting.add(call);
      if (!running) {
        running = true;
        Thread.ofVirtual().name("batches of " + model.name()).start(this::loop);
      }
    }
    return call::result;
  }

  private void loop() {
    for (var calls = next(); !calls.isEmpty(); calls = next()) {
      run(calls);
    }
  }

  /** Returns the calls of the next run; none if no call waits. */
  private synchronized List<Waiting> next() {
    waiting.stream().filter(call -> call.shares.isDone()).forEach(Waiting::end);
    waiting.removeIf(call -> call.shares.isDone());
    var calls = new ArrayList<Waiting>();
    long rows = 0;
    for (var call : waiting) {
      if (call.key.equals(waiting.getFirst().key)) {
        rows += call.rows;
        if (rows > most && !calls.isEmpty()) {
          break;
        }
        calls.add(call);
      }
    }
    waiting.removeAll(calls);
    running = !calls.isEmpty();
    return calls;
  }

  private static void run(List<Waiting> calls) {
    try (var _ = calls.getFirst().trace.makeCurrent()) {
      share(calls);
    } catch (Failure.Busy e) {
      calls.forEach(call -> call.shares.completeExceptionally(e));
    } catch (RuntimeException | Error e) {
      if (calls.size() == 1) {
        calls.getFirst().shares.completeExceptionally(e);
      } else {
        calls.forEach(call -> run(List.of(call)));
      }
    } finally {
      calls.forEach(Waiting::end);
    }
  }

  private static void share(List<Waiting> calls) {
    var head = calls.getFirst();
    var inputs = new LinkedHashMap<String, Call.Input>();
    for (var name : head.tensors.keySet()) {
      inputs.put(
          name,
          new Call.Input.Inline(
              concatenated(
                  calls.stream()
                      .map(call -> Objects.requireNonNull(call.tensors.get(name)))
                      .toList())));
    }
    int priority = calls.stream().mapToInt(call -> call.context.priority()).min().orElseThrow();
    var context = head.context.shared(priority);
    var result = head.run.run(inputs, head.key.targets, context, calls.size());
    long rows = calls.stream().mapToLong(call -> call.rows).sum();
    long first = 0;
    for (var call : calls) {
      call.shares.complete(new Share(result, first, call.rows, rows));
      first += call.rows;
    }
  }

  /** Returns the rows of all tensors. */
  static HostTensor concatenated(List<HostTensor> tensors) {
    if (tensors.size() == 1) {
      return tensors.getFirst();
    }
    long rows = tensors.stream().mapToLong(each -> each.type().shape().extent(0)).sum();
    var all = HostTensor.zeros(withRows(tensors.getFirst().type(), rows));
    long at = 0;
    for (var tensor : tensors) {
      MemorySegment.copy(tensor.data(), 0, all.data(), at, tensor.data().byteSize());
      at += tensor.data().byteSize();
    }
    return all;
  }

  /** Returns some rows of a tensor. */
  static HostTensor rows(HostTensor all, long first, long count) {
    long row = withRows(all.type(), 1).bytes();
    return new HostTensor(
        withRows(all.type(), count), all.data().asSlice(first * row, count * row));
  }

  static TensorType withRows(TensorType type, long count) {
    var extents = new ArrayList<>(type.shape().extents());
    extents.set(0, count);
    return new TensorType(type.dtype(), new Shape(extents));
  }

  /**
   * The rows of a run that belong to a call.
   *
   * @param all the number of rows of the run
   */
  private record Share(Result result, long first, long count, long all) {

    /** Returns the result of the call, in its own memory. */
    Result of(RequestMemory memory, long asked) {
      var outputs = new LinkedHashMap<String, Result.Output>();
      result
          .outputs()
          .forEach((name, output) -> {
            var rows = rows(((Result.Output.Inline) output).tensor(), first, count);
            var own = memory.allocate(rows.data().byteSize(), Long.BYTES);
            own.copyFrom(rows.data());
            outputs.put(name, new Result.Output.Inline(new HostTensor(rows.type(), own)));
          });
      return new Result(
          result.device(),
          result.steps(),
          outputs,
          result.timing().within((System.nanoTime() - asked) / 1e3),
          first == 0 ? result.batchSize() : 0);
    }
  }

  /** A call that waits for its rows. */
  private static final class Waiting {
    private final Map<String, HostTensor> tensors;
    private final Key key;
    private final long rows;
    private final RequestContext context;
    private final RequestMemory inputs;
    private final Run run;
    private final Context trace = Context.current();
    private final long asked = System.nanoTime();
    private final CompletableFuture<Share> shares = new CompletableFuture<>();
    private boolean ended;

    Waiting(
        Map<String, HostTensor> tensors,
        Map<String, Target> targets,
        Map<String, TensorType> types,
        RequestContext context,
        Run run) {
      var row = new LinkedHashMap<String, TensorType>();
      types.forEach((name, type) -> row.put(name, withRows(type, 1)));
      this.tensors = tensors;
      this.context = context;
      this.run = run;
      key = new Key(row, Map.copyOf(targets));
      rows = types.values().iterator().next().shape().extent(0);
      inputs = context.memory().hold();
    }

    /** Frees the inputs, of which the batches are done. */
    void end() {
      if (!ended) {
        ended = true;
        inputs.close();
      }
    }

    /** Waits for the result. */
    Result result() {
      try {
        return share().of(context.memory(), asked);
      } catch (Failure e) {
        throw e;
      } catch (RuntimeException e) {
        throw DeviceHealth.internal(e);
      }
    }

    private Share share() {
      long interval = FIRST_CHECK;
      while (true) {
        try {
          return shares.get(
              Math.min(interval, context.deadline().remainingNanos()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
          leave();
          interval = Math.min(2 * interval, LAST_CHECK);
        } catch (ExecutionException e) {
          throw e.getCause() instanceof RuntimeException failure
              ? failure
              : new IllegalStateException(e);
        } catch (InterruptedException e) {
          shares.cancel(false);
          Thread.currentThread().interrupt();
          throw context.clientHasGone().getAsBoolean()
              ? Failure.clientGone()
              : Failure.Busy.draining();
        }
      }
    }

    /** Fails if the deadline has passed or the client has gone; the other calls go on. */
    private void leave() {
      Failure failure = null;
      try {
        context.deadline().check();
        if (context.clientHasGone().getAsBoolean()) {
          failure = Failure.clientGone();
        }
      } catch (Failure e) {
        failure = e;
      }
      if (failure != null && shares.cancel(false)) {
        throw failure;
      }
    }
  }
}
