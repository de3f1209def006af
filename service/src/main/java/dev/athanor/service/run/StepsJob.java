package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.device.Scratch;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.stream.ContentLocks;
import dev.athanor.service.stream.Job;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.stream.StreamTimer;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.transfer.Transfers;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
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

  /**
   * The timing of a run.
   *
   * @param started when the run started, as {@link System#nanoTime()}
   * @param stepMicros the device time of each step
   * @param batchSize batch size if this run led the batch, else 0
   */
  record RunTiming(
      long started,
      double uploadMicros,
      List<Double> stepMicros,
      double downloadMicros,
      int batchSize) {
    double kernelMicros() {
      return stepMicros.stream().mapToDouble(Double::doubleValue).sum();
    }
  }

  /** A tensor that the run reads or produces. */
  static final class Value {
    private final TensorType type;
    private @Nullable DeviceTensor tensor;

    /** The handle of a resident tensor, else null. */
    private @Nullable String handle;

    /** The last step that produces or reads it; -1 for none. */
    private int lastUse = -1;

    private boolean isOutput;

    private Value(TensorType type) {
      this.type = type;
    }

    TensorType type() {
      return type;
    }

    /**
     * Returns the handle of a resident tensor, also if the request has its name; null for others.
     */
    @Nullable String handle() {
      return handle;
    }

    /** Returns the device tensor if memory has been assigned to this value. */
    Optional<DeviceTensor> present() {
      return Optional.ofNullable(tensor);
    }

    DeviceTensor tensor() {
      return Objects.requireNonNull(tensor);
    }

    /** Assigns device memory to this value. */
    void setTensor(DeviceTensor assigned) {
      tensor = assigned;
    }

    int lastUse() {
      return lastUse;
    }

    boolean isOutput() {
      return isOutput;
    }
  }

  /**
   * One op of the run.
   *
   * @param op the name of the op
   * @param inPlace whether an output may share memory with an input
   * @param dtype the dtype of its first input
   */
  record Step(
      String op,
      boolean inPlace,
      Plan plan,
      String dtype,
      Map<String, Value> inputs,
      Map<String, Value> outputs) {}

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

  private final Map<Value, HostTensor> uploads = new LinkedHashMap<>();

  /** Inputs that reside on other devices. */
  private final Map<Value, Pin> foreign = new LinkedHashMap<>();

  private final List<Step> steps = new ArrayList<>();
  private final Scratch scratch;
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
    inline = context.memory().hold();
    outputs = new Outputs(tensors, pins, scratch, inline);
  }

  // -- preparation, before the job is queued

  /**
   * Returns the value of an input of the request.
   *
   * @param field the path of the input in the request
   */
  Value input(Call.Input input, String field) {
    return switch (input) {
      case Call.Input.Inline(var tensor) -> {
        var value = new Value(tensor.type());
        uploads.put(value, tensor);
        yield value;
      }
      case Call.Input.Resident(var handle, var shape) ->
          resident(handle, shape, field + ".handle", field + ".shape");
    };
  }

  /**
   * Returns the value of a resident tensor; {@code field} is the path of its handle in the request.
   */
  Value resident(String handle, String field) {
    return resident(handle, null, field, field);
  }

  private Value resident(
      String handle, @Nullable List<Long> shape, String field, String shapeField) {
    var pin = pins.read(handle, field);
    var value = new Value(shape == null ? pin.type() : reshaped(pin.type(), shape, shapeField));
    value.handle = pin.handle(); // which names this tensor alone: another may get its name
    if (pin.storage() == memory) {
      var there = pin.tensor();
      value.tensor = new DeviceTensor(value.type, there.buffer(), there.offset());
    } else {
      foreign.put(value, pin);
    }
    return value;
  }

  /** Returns a type with the same dtype and number of elements in another shape. */
  private static TensorType reshaped(TensorType type, List<Long> shape, String field) {
    var other = Tensors.type(type.dtype(), shape, field);
    if (other.shape().elements() != type.shape().elements()) {
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          field,
          "%s is %s, but the tensor has shape %s; both must have the same number of elements"
              .formatted(field, other.shape(), type.shape()));
    }
    return other;
  }

  /** Adds a step and returns its outputs by name. */
  Map<String, Value> step(Op op, Plan plan, String dtype, Map<String, Value> inputs) {
    var given = new HashMap<String, Value>();
    plan.outputs().forEach((name, type) -> given.put(name, new Value(type)));
    inputs.values().forEach(value -> value.lastUse = steps.size());
    given.values().forEach(value -> value.lastUse = steps.size());
    steps.add(new Step(op.description().name(), op.worksInPlace(), plan, dtype, inputs, given));
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

  /** Sets the destination of an output. */
  void output(String name, Value value, Destination destination) {
    if (destination instanceof Destination.Into(var handle)) {
      requireInPlace(handle, value, "outputs." + name + ".into");
    }
    value.isOutput = true;
    outputs.add(name, value, destination);
  }

  /**
   * Checks that a tensor which the run reads may also be written. A run of several steps writes its
   * targets after the last step, so any target is allowed; a single step writes directly, which its
   * op must support in place.
   */
  private void requireInPlace(String handle, Value output, String field) {
    if (steps.size() > 1) {
      return;
    }
    var step = onlyStep();
    step.inputs.forEach((name, input) -> {
      if (!handle.equals(input.handle)) {
        return;
      }
      if (!step.inPlace) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is %s, which is also the input \"%s\"; %s cannot run in place, so name another tensor"
                .formatted(field, handle, name, step.op));
      }
      if (!input.type.equals(output.type)) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is %s, which is also the input \"%s\" of type %s; to run in place it must be %s like the output"
                .formatted(field, handle, name, input.type, output.type));
      }
    });
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
    return steps.stream().map(step -> step.plan.kernel()).toList();
  }

  @Override
  public long cost() {
    double micros = 0;
    for (var step : steps) {
      var cost = step.plan.cost();
      micros += Math.max(cost.bytes() / BYTES_PER_MICRO, cost.flops() / FLOPS_PER_MICRO);
    }
    return (long) ((LAUNCH_MICROS * steps.size() + micros) * 1e3) + Transfers.cost(hostBytes());
  }

  @Override
  public long hostBytes() {
    return outputs.inlineBytes() + bytes(uploads.keySet()) + bytes(foreign.keySet());
  }

  private static long bytes(Collection<Value> values) {
    return values.stream().mapToLong(value -> value.type.bytes()).sum();
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
    return steps.size() > 1 && !deadline.isSet() && foreign.isEmpty();
  }

  private RunTiming stepByStep(Stream stream, long started) {
    try (var timer = new StreamTimer(stream)) {
      uploads.forEach((value, tensor) -> {
        value.tensor = scratch.tensor(value.type);
        stream.upload(tensor.data(), value.tensor().buffer(), 0);
      });
      foreign.forEach((value, pin) -> fetch(value, pin, stream));
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
      CapturedPipeline graph, Map<Value, Integer> numbers, Stream stream, long started) {
    Function<Value, DeviceTensor> tensors =
        value -> graph.tensor(Objects.requireNonNull(numbers.get(value)));
    try (var timer = new StreamTimer(stream)) {
      uploads.forEach(
          (value, tensor) -> stream.upload(tensor.data(), tensors.apply(value).buffer(), 0));
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

  /** Copies a tensor from another device through host memory. */
  private void fetch(Value value, Pin pin, Stream stream) {
    try (var arena = Arena.ofConfined()) {
      var host = arena.allocate(value.type.bytes(), Long.BYTES);
      pin.storage().read(pin.tensor().buffer(), host);
      value.tensor = scratch.tensor(value.type);
      stream.upload(host, value.tensor().buffer(), 0);
      stream.synchronize(); // the copy reads host memory that is freed here
    }
  }

  RunTiming ran() {
    return Objects.requireNonNull(ran, "the job has run");
  }

  private void run(Step step, int index, Stream stream) {
    var results = new HashMap<String, DeviceTensor>();
    step.outputs.forEach((name, value) -> {
      value.tensor = target(value);
      results.put(name, value.tensor());
    });
    var inputs = new HashMap<String, DeviceTensor>();
    step.inputs.forEach((name, value) -> inputs.put(name, value.tensor()));
    var workspace = scratch.workspace(step.plan);
    if (writesDirectly()) {
      outputs.preserve(memory, stream);
      touched = true;
    }
    step.plan.enqueue(
        runtime.kernels(), stream, new Bindings(inputs, results, workspace, step.inPlace));
    workspace.ifPresent(buffer -> scratch.release(buffer, stream));
    for (var values : List.of(step.inputs.values(), step.outputs.values())) {
      for (var value : values) {
        if (value.lastUse == index && !value.isOutput) {
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

  private DeviceTensor target(Value value) {
    return Optional.of(value)
        .filter(_ -> writesDirectly())
        .flatMap(outputs::target)
        .orElseGet(() -> scratch.tensor(value.type));
  }

  // -- shared launches; see BatchLaunch

  /** Lets this run of one step share a launch, unless it reads tensors of other devices. */
  void joinBatch(BatchLaunch launch) {
    if (foreign.isEmpty()) {
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

  Step onlyStep() {
    return steps.getFirst();
  }

  /** Copies an input's elements to an offset in device memory. */
  void copyInput(String name, Stream stream, Buffer target, long offset) {
    var value = Objects.requireNonNull(onlyStep().inputs.get(name));
    var upload = uploads.get(value);
    if (upload != null) {
      stream.upload(upload.data(), target, offset);
    } else {
      stream.copy(value.tensor().buffer(), 0, target, offset, value.type.bytes());
    }
  }

  /** Copies an output's elements from an offset in device memory to their destination. */
  void takeOutput(String name, Stream stream, Buffer source, long offset) {
    batched = true;
    var value = Objects.requireNonNull(onlyStep().outputs.get(name));
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

  List<Step> steps() {
    return steps;
  }

  /** Returns the step that a failure of the run is attributed to, if known. */
  Optional<Failure.Step> current() {
    int at = current;
    return at < 0 ? Optional.empty() : Optional.of(new Failure.Step(at, steps.get(at).op));
  }

  Map<String, Result.Output> outputs() {
    return results;
  }
}
