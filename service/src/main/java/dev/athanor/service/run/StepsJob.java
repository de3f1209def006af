package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.device.Scratch;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.stream.ContentLocks;
import dev.athanor.service.stream.Job;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.stream.StreamTimer;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.transfer.Transfers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a sequence of ops on one stream and owns the resources they use. A call of a single op is a
 * run of one step.
 */
final class StepsJob implements Job {

  private static final Logger LOG = LoggerFactory.getLogger(StepsJob.class);

  /** Initial throughput estimates for any device; measured kernel times correct them. */
  private static final double BYTES_PER_MICRO = 1e6;

  private static final double FLOPS_PER_MICRO = 1e8;
  private static final double LAUNCH_MICROS = 10;

  private final DeviceRuntime runtime;
  private final CapturedPipelines graphs;
  private final DeviceMemory memory;
  private final Tenant tenant;
  private final RequestContext context;
  private final Deadline deadline;

  private final Pins pins;

  /** Host memory of inline inputs and outputs. */
  private final RequestMemory inline;

  private final List<RunStep> steps = new ArrayList<>();
  private final Scratch scratch;
  private final RunInputs inputs;
  private final Outputs outputs;
  private Map<String, Result.Output> results = Map.of();

  /** The step to blame for a fault at this point; -1 if unknown. */
  private volatile int current = -1;

  /** Whether the outputs were computed in the memory of a shared launch. */
  private boolean batched;

  /** Whether existing tensors may have been overwritten. */
  private boolean touched;

  private long prepareNanos;
  private boolean committed;
  private @Nullable RunTiming ran;
  private @Nullable BatchLaunch batchLaunch;
  private @Nullable CapturedPipeline captured;

  StepsJob(
      DeviceRuntime runtime,
      CapturedPipelines graphs,
      TenantTensors tensors,
      RequestContext context) {
    this.runtime = runtime;
    this.graphs = graphs;
    memory = runtime.memory();
    tenant = context.tenant();
    this.context = context;
    deadline = context.deadline();
    pins = new Pins(tensors);
    scratch = new Scratch(memory);
    inputs = new RunInputs(memory, pins, scratch);
    inline = context.memory().hold();
    outputs = new Outputs(tensors, pins, scratch, inline);
  }

  // -- preparation, before the job is queued

  /** Returns the inputs, to which the inputs of the request are added. */
  RunInputs inputs() {
    return inputs;
  }

  /** Adds a step and returns its outputs by name. */
  Map<String, RunValue> step(Op op, Plan plan, String dtype, Map<String, RunValue> inputs) {
    var given = new HashMap<String, RunValue>();
    plan.outputs().forEach((name, type) -> given.put(name, new RunValue(type)));
    inputs.values().forEach(value -> value.useIn(steps.size()));
    given.values().forEach(value -> value.useIn(steps.size()));
    steps.add(new RunStep(op.description().name(), op.worksInPlace(), plan, dtype, inputs, given));
    return given;
  }

  /** Adds time spent planning this run and loading its kernels. */
  void addPrepareNanos(long nanos) {
    prepareNanos += nanos;
  }

  /** Returns the time spent planning this run and loading its kernels, in nanoseconds. */
  long prepareNanos() {
    return prepareNanos;
  }

  /**
   * Sets the destination of an output. A run of several steps writes its targets after the last
   * step, so that it may also read them; a single step writes directly, which its op must support
   * in place.
   */
  void output(String name, RunValue value, Destination destination) {
    if (destination instanceof Destination.Into(var handle) && steps.size() == 1) {
      onlyStep().requireInPlace(handle, value.type(), "outputs." + name + ".into");
    }
    value.setOutput();
    outputs.add(name, value, destination);
  }

  /** Locks the contents of all resident tensors that the run uses. */
  void lock(ContentLocks locks) {
    pins.lock(locks, context);
  }

  // -- execution on the stream

  @Override
  public int device() {
    return runtime.number();
  }

  /** Returns the kernels of the run: the error of an estimate depends on the kernel. */
  @Override
  public Object kind() {
    return steps.stream().map(step -> step.plan().kernel()).toList();
  }

  @Override
  public long cost() {
    double micros = 0;
    for (var step : steps) {
      var cost = step.plan().cost();
      micros += Math.max(cost.bytes() / BYTES_PER_MICRO, cost.flops() / FLOPS_PER_MICRO);
    }
    return (long) ((LAUNCH_MICROS * steps.size() + micros) * 1e3) + Transfers.cost(hostBytes());
  }

  @Override
  public long hostBytes() {
    return outputs.inlineBytes() + inputs.hostBytes();
  }

  @Override
  public void run(Stream stream) {
    long started = System.nanoTime();
    deadline.check();
    if (!graphs.isEnabled() || !isRepeatable()) {
      ran = stepByStep(stream, started);
      return;
    }
    var numbers = PipelineKey.numbers(steps);
    var key = PipelineKey.of(tenant, steps, numbers);
    captured = graphs.take(key).orElse(null);
    if (captured == null || !runCaptured(captured, numbers, stream, started)) {
      ran = stepByStep(stream, started);
      graphs.recordRun(key, ran.stepMicros());
    }
  }

  /**
   * Whether the run may use a captured graph. A run with a deadline checks it between steps, and a
   * single step gains nothing from a graph.
   */
  private boolean isRepeatable() {
    return steps.size() > 1 && !deadline.isSet() && !inputs.areForeign();
  }

  private RunTiming stepByStep(Stream stream, long started) {
    try (var timer = new StreamTimer(stream)) {
      inputs.upload(stream);
      timer.mark();
      for (int i = 0; i < steps.size(); i++) {
        if (i > 0 && deadline.isSet()) {
          stream.synchronize();
          deadline.check();
        }
        current = i;
        run(steps.get(i), i, stream);
        timer.mark();
      }
      if (!deadline.isSet()) {
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

  /**
   * Runs the captured graph of an identical pipeline.
   *
   * @return false if device memory does not suffice for the graph and the outputs; the graph's
   *     memory is then released
   */
  private boolean runCaptured(
      CapturedPipeline graph, Map<RunValue, Integer> numbers, Stream stream, long started) {
    Function<RunValue, DeviceTensor> tensors =
        value -> graph.tensor(Objects.requireNonNull(numbers.get(value)));
    try (var timer = new StreamTimer(stream)) {
      inputs.uploadInline(stream, tensors);
      timer.mark();
      graph.launch(stream);
      timer.mark();
      outputs.takeAll(stream, tensors);
      timer.mark();
      stream.synchronize();
      ran =
          new RunTiming(
              started, timer.micros(0), graph.stepShares(timer.micros(1)), timer.micros(2), 1);
      runtime.metrics().graphLaunch();
      return true;
    } catch (DeviceException.OutOfMemory e) {
      LOG.debug(
          "Not enough device memory for a graph of {} steps and its outputs", steps.size(), e);
      stream.synchronize(); // enqueued work still uses the memory that is freed next
      scratch.free();
      graphs.refuse(graph);
      captured = null;
      return false;
    }
  }

  RunTiming ran() {
    return Objects.requireNonNull(ran, "the job has run");
  }

  private void run(RunStep step, int index, Stream stream) {
    var results = new HashMap<String, DeviceTensor>();
    step.outputs()
        .forEach((name, value) -> {
          value.setTensor(target(value));
          results.put(name, value.tensor());
        });
    var inputs = new HashMap<String, DeviceTensor>();
    step.inputs().forEach((name, value) -> inputs.put(name, value.tensor()));
    var workspace = scratch.workspace(step.plan());
    if (writesDirectly()) {
      outputs.preserve(memory, stream);
      touched = true;
    }
    step.plan()
        .enqueue(
            runtime.kernels(), stream, new Bindings(inputs, results, workspace, step.inPlace()));
    workspace.ifPresent(buffer -> scratch.release(buffer, stream));
    for (var values : List.of(step.inputs().values(), step.outputs().values())) {
      for (var value : values) {
        if (value.lastUse() == index && !value.isOutput()) {
          scratch.release(value.tensor().buffer(), stream);
        }
      }
    }
  }

  /**
   * Whether kernels write their output directly into the target tensor, which takes no extra
   * memory. A run with a deadline or with several steps may still fail, so it writes its targets
   * only on commit.
   */
  private boolean writesDirectly() {
    return steps.size() == 1 && !deadline.isSet() && !batched;
  }

  private DeviceTensor target(RunValue value) {
    return Optional.of(value)
        .filter(_ -> writesDirectly())
        .flatMap(outputs::target)
        .orElseGet(() -> scratch.tensor(value.type()));
  }

  // -- shared launches; see BatchLaunch

  /** Lets this run of one step share a launch, unless it reads tensors of other devices. */
  void joinBatch(BatchLaunch launch) {
    if (!inputs.areForeign()) {
      batchLaunch = launch;
    }
  }

  /** Returns the device memory that this run allocates. */
  Scratch scratch() {
    return scratch;
  }

  DeviceRuntime runtime() {
    return runtime;
  }

  @Override
  public Optional<Ticket.Batch> batch() {
    return Optional.ofNullable(batchLaunch).map(BatchLaunch::batch);
  }

  @Override
  public boolean runBatch(Stream stream, List<Job> jobs) {
    return Objects.requireNonNull(batchLaunch, "the job has a batch")
        .run(stream, jobs.stream().map(StepsJob.class::cast).toList());
  }

  RunStep onlyStep() {
    return steps.getFirst();
  }

  /** Copies an input's elements to an offset in device memory. */
  void copyInput(String name, Stream stream, Buffer target, long offset) {
    inputs.copy(Objects.requireNonNull(onlyStep().inputs().get(name)), stream, target, offset);
  }

  /** Copies an output's elements from an offset in device memory to their destination. */
  void takeOutput(String name, Stream stream, Buffer source, long offset) {
    batched = true;
    var value = Objects.requireNonNull(onlyStep().outputs().get(name));
    outputs.take(value, stream, source, offset);
  }

  @Override
  public void leaveBatch() {
    scratch.free();
    batched = false;
  }

  void setBatchTiming(RunTiming all) {
    ran = all;
  }

  @Override
  public void commit(Stream stream) {
    if (!writesDirectly()) {
      outputs.preserve(memory, stream);
      touched = true;
      outputs.write(stream);
    }
    stream.synchronize();
    results = outputs.commit(memory);
    committed = true;
  }

  // -- cleanup

  @Override
  public void close() {
    try (pins;
        inline) {
      if (!committed) {
        outputs.abandon(touched);
      }
      scratch.free();
      if (captured != null) {
        release(captured);
      }
    }
  }

  /** Drops the graph after a fault, since its state is then unknown. */
  private void release(CapturedPipeline used) {
    if (ran == null) {
      graphs.drop(used);
    } else {
      graphs.release(used);
    }
  }

  /** Returns the number of steps added so far. */
  int size() {
    return steps.size();
  }

  List<RunStep> steps() {
    return steps;
  }

  /** Returns the step that a failure of the run is attributed to, if known. */
  Optional<Failure.Step> current() {
    int at = current;
    return at < 0 ? Optional.empty() : Optional.of(new Failure.Step(at, steps.get(at).op()));
  }

  Map<String, Result.Output> outputs() {
    return results;
  }
}
