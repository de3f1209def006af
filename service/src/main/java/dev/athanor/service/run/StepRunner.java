package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.Scratch;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.stream.StreamTimer;
import dev.athanor.service.tensor.Tenant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the steps of a job, as a captured graph if there is one. All memory is allocated before the
 * first step. A run can be stopped until a step overwrites a resident tensor; from then on only a
 * device fault ends it early.
 */
final class StepRunner {

  private static final Logger LOG = LoggerFactory.getLogger(StepRunner.class);

  /** Whether a run can still end without a trace. */
  private enum Phase {
    REVOCABLE,
    ABANDONED,
    IRREVOCABLE
  }

  private final DeviceRuntime runtime;
  private final CapturedPipelines graphs;
  private final Tenant tenant;
  private final Deadline deadline;
  private final List<RunStep> steps;
  private final RunInputs inputs;
  private final Outputs outputs;
  private final Scratch scratch;

  private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.REVOCABLE);

  /** The step to blame for a fault at this point; -1 if unknown. */
  private volatile int current = -1;

  /** The first step that overwrites a resident tensor; the number of steps if none does. */
  private int firstOverwrite;

  private Optional<Buffer> workspace = Optional.empty();
  private @Nullable RunTiming ran;
  private @Nullable CapturedPipeline captured;

  StepRunner(
      DeviceRuntime runtime,
      CapturedPipelines graphs,
      Tenant tenant,
      Deadline deadline,
      List<RunStep> steps,
      RunInputs inputs,
      Outputs outputs,
      Scratch scratch) {
    this.runtime = runtime;
    this.graphs = graphs;
    this.tenant = tenant;
    this.deadline = deadline;
    this.steps = steps;
    this.inputs = inputs;
    this.outputs = outputs;
    this.scratch = scratch;
  }

  /** Runs all steps and waits for their completion. */
  RunTiming run(Stream stream) {
    long started = System.nanoTime();
    deadline.check();
    var timing = steps.size() == 1 ? runAlone(stream, started) : runPipeline(stream, started);
    ran = timing;
    return timing;
  }

  private RunTiming runAlone(Stream stream, long started) {
    var step = steps.getFirst();
    firstOverwrite = 1;
    for (var value : step.outputs().values()) {
      var target = outputs.target(value);
      if (target.isPresent()) {
        firstOverwrite = 0;
      }
      value.setTensor(target.isPresent() ? target.get().tensor() : scratch.tensor(value.type()));
    }
    inputs.allocate();
    outputs.requireInPlace(steps);
    workspace = scratch.workspace(step.plan());
    var timing = stepByStep(stream, started);
    // other runs of the same launch may need the memory
    step.inputs().values().forEach(input -> scratch.release(input.tensor().buffer(), stream));
    workspace.ifPresent(buffer -> scratch.release(buffer, stream));
    return timing;
  }

  private RunTiming runPipeline(Stream stream, long started) {
    firstOverwrite = InPlace.assign(steps, outputs);
    outputs.requireInPlace(steps);
    var numbers = PipelineKey.numbers(steps);
    var key = PipelineKey.of(tenant, steps, numbers);
    boolean repeatable = graphs.isEnabled() && !inputs.areForeign();
    if (repeatable) {
      var graph = graphs.take(key).orElse(null);
      captured = graph;
      if (graph != null && graph.nanos() < deadline.remainingNanos()) {
        var kept = allocateKept(graph);
        if (kept.isPresent()) {
          return runCaptured(graph, numbers, kept.get(), stream, started);
        }
      }
    }
    allocate(key, numbers);
    var timing = stepByStep(stream, started);
    if (repeatable) {
      graphs.recordRun(key, timing.stepMicros());
    }
    return timing;
  }

  // -- step by step

  /** Allocates the memory of all values and of the workspace. */
  private void allocate(PipelineKey key, Map<RunValue, Integer> numbers) {
    var own = new HashMap<Integer, DeviceTensor>();
    outputs
        .allocateKept()
        .forEach((value, tensor) ->
            own.put(key.owner(Objects.requireNonNull(numbers.get(value))), tensor));
    var plan = MemoryPlan.of(key, own.keySet());
    var tensors = new HashMap<Integer, DeviceTensor>();
    plan.place(key, scratch::take, own, tensors::put);
    numbers.forEach((value, number) -> {
      if (value.base() == null) {
        value.setTensor(Objects.requireNonNull(tensors.get(number), "each value has memory"));
      }
    });
    workspace = plan.workspace(scratch::take);
  }

  private RunTiming stepByStep(Stream stream, long started) {
    try (var timer = new StreamTimer(stream)) {
      inputs.upload(stream);
      timer.mark();
      for (int i = 0; i < steps.size(); i++) {
        if (i > 0 && i <= firstOverwrite && deadline.isSet()) {
          stream.synchronize();
          deadline.check();
        }
        current = i;
        if (i == firstOverwrite) {
          overwrite(stream);
        }
        enqueue(steps.get(i), stream);
        timer.mark();
      }
      if (!deadline.isSet() || firstOverwrite < steps.size() - 1) {
        current =
            -1; // a GPU reports faults asynchronously, so from here on any step may be the cause
      }
      outputs.download(stream);
      timer.mark();
      stream.synchronize();
      int last = steps.size() + 1;
      var stepMicros = new ArrayList<Double>();
      for (int i = 1; i < last; i++) {
        stepMicros.add(timer.micros(i));
      }
      return new RunTiming(started, timer.micros(0), stepMicros, timer.micros(last), 1);
    }
  }

  private void enqueue(RunStep step, Stream stream) {
    step.plan()
        .enqueue(
            runtime.kernels(),
            stream,
            new Bindings(
                tensors(step.inputs()), tensors(step.outputs()), workspace, step.mayReplace()));
  }

  private static Map<String, DeviceTensor> tensors(Map<String, RunValue> values) {
    var tensors = new HashMap<String, DeviceTensor>();
    values.forEach((name, value) -> tensors.put(name, value.tensor()));
    return tensors;
  }

  // -- captured

  /**
   * Allocates the memory of new resident tensors.
   *
   * @return empty if device memory does not suffice beside the graph, which is then released
   */
  private Optional<Map<RunValue, DeviceTensor>> allocateKept(CapturedPipeline graph) {
    try {
      return Optional.of(outputs.allocateKept());
    } catch (DeviceException.OutOfMemory e) {
      LOG.debug(
          "Not enough device memory for a graph of {} steps and its outputs", steps.size(), e);
      scratch.free();
      graphs.refuse(graph);
      captured = null;
      return Optional.empty();
    }
  }

  private RunTiming runCaptured(
      CapturedPipeline graph,
      Map<RunValue, Integer> numbers,
      Map<RunValue, DeviceTensor> kept,
      Stream stream,
      long started) {
    Function<RunValue, DeviceTensor> tensors =
        value -> graph.tensor(Objects.requireNonNull(numbers.get(value)));
    try (var timer = new StreamTimer(stream)) {
      inputs.uploadInline(stream, tensors);
      timer.mark();
      if (firstOverwrite < steps.size()) {
        overwrite(stream);
      }
      graph.launch(stream);
      timer.mark();
      outputs.takeAll(stream, tensors, kept);
      timer.mark();
      stream.synchronize();
      runtime.metrics().graphLaunch();
      return new RunTiming(
          started, timer.micros(0), graph.stepShares(timer.micros(1)), timer.micros(2), 1);
    }
  }

  // -- overwriting tensors

  /**
   * Makes the run irrevocable before a resident tensor is overwritten.
   *
   * @throws Failure.DeadlineExceeded if the client has stopped waiting
   */
  private void overwrite(Stream stream) {
    outputs.preserve(runtime.memory(), stream);
    if (!phase.compareAndSet(Phase.REVOCABLE, Phase.IRREVOCABLE)) {
      throw new Failure.DeadlineExceeded(deadline);
    }
  }

  /** Lets the run end without a result, unless it has begun to overwrite a resident tensor. */
  boolean abandon() {
    return phase.compareAndSet(Phase.REVOCABLE, Phase.ABANDONED) || phase.get() == Phase.ABANDONED;
  }

  /** Returns whether resident tensors may have been overwritten. */
  boolean hasOverwritten() {
    return phase.get() == Phase.IRREVOCABLE;
  }

  /** Returns the step that a failure of the run is attributed to, if known. */
  Optional<Failure.Step> current() {
    int at = current;
    return at < 0 ? Optional.empty() : Optional.of(new Failure.Step(at, steps.get(at).op()));
  }

  /** Releases the graph; after a fault it is dropped, since its state is then unknown. */
  void close() {
    if (captured != null) {
      if (ran == null) {
        graphs.drop(captured);
      } else {
        graphs.release(captured);
      }
    }
  }
}
