package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.device.Scratch;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.stream.ContentLocks;
import dev.athanor.service.stream.Job;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.transfer.Transfers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Runs a sequence of ops on one stream and owns the resources they use. A call of a single op is a
 * run of one step.
 */
final class StepsJob implements Job {

  /** Initial throughput estimates for any device; measured kernel times correct them. */
  private static final double BYTES_PER_MICRO = 1e6;

  private static final double FLOPS_PER_MICRO = 1e8;
  private static final double LAUNCH_MICROS = 10;

  private final DeviceRuntime runtime;
  private final DeviceMemory memory;
  private final RequestContext context;

  private final Pins pins;

  /** Host memory of inline inputs and outputs. */
  private final RequestMemory inline;

  private final List<RunStep> steps = new ArrayList<>();
  private final Scratch scratch;
  private final RunInputs inputs;
  private final Outputs outputs;
  private final StepRunner runner;
  private Map<String, Result.Output> results = Map.of();

  /** Whether a commit may have written into existing tensors. */
  private boolean wrote;

  /** How many calls share the run, beside those of its batch. */
  private int calls = 1;

  private long prepareNanos;
  private boolean committed;
  private @Nullable RunTiming ran;
  private @Nullable BatchLaunch batchLaunch;

  StepsJob(
      DeviceRuntime runtime,
      CapturedPipelines graphs,
      TenantTensors tensors,
      RequestContext context) {
    this.runtime = runtime;
    memory = runtime.memory();
    this.context = context;
    pins = new Pins(tensors);
    scratch = new Scratch(memory);
    inputs = new RunInputs(memory, pins, scratch);
    inline = context.memory().hold();
    outputs = new Outputs(tensors, pins, scratch, inline);
    runner =
        new StepRunner(
            runtime, graphs, context.tenant(), context.deadline(), steps, inputs, outputs, scratch);
  }

  // -- preparation, before the job is queued

  /** Returns whether the bits of a row must not depend on the rows that come with it. */
  boolean isRowInvariant() {
    return context.rowInvariant();
  }

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
    steps.add(new RunStep(op.description().name(), op::mayReplace, plan, dtype, inputs, given));
    return given;
  }

  /** Sets the number of calls that share the run. */
  void setCalls(int several) {
    calls = several;
  }

  /** Returns the number of calls if this run led the batch, else 0. */
  int batchSize() {
    return ran().batchSize() * calls;
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
   * Sets the destination of an output. A run of several steps may also read its targets: it writes
   * them after their last reader. A single step writes directly, which its op must support in
   * place.
   */
  void output(String name, RunValue value, Destination destination) {
    if (destination instanceof Destination.Into(var handle, _, _) && steps.size() == 1) {
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
    ran = runner.run(stream);
  }

  @Override
  public boolean abandon() {
    return runner.abandon();
  }

  RunTiming ran() {
    return Objects.requireNonNull(ran, "the job has run");
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
    var value = Objects.requireNonNull(onlyStep().outputs().get(name));
    outputs.take(value, stream, source, offset);
  }

  @Override
  public void leaveBatch() {
    scratch.free();
  }

  void setBatchTiming(RunTiming all) {
    ran = all;
  }

  @Override
  public void commit(Stream stream) {
    outputs.preserve(memory, stream);
    wrote = true;
    outputs.write(stream);
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
        outputs.abandon(wrote || runner.hasOverwritten());
      }
      scratch.free();
      runner.close();
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
    return runner.current();
  }

  Map<String, Result.Output> outputs() {
    return results;
  }
}
