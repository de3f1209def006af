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
 * A run of ops one after the other, with all that it holds. A call of an op is a run of one step.
 */
final class StepsJob implements Job {

  /**
   * How long it took.
   *
   * @param started on the clock of {@link System#nanoTime()}
   * @param stepMicros of each step
   * @param company how many runs the launch did whose first this was; 0 when another was
   */
  record Ran(
      long started,
      double uploadMicros,
      List<Double> stepMicros,
      double downloadMicros,
      int company) {
    double kernelMicros() {
      return stepMicros.stream().mapToDouble(Double::doubleValue).sum();
    }
  }

  /** A tensor that the run reads or makes. */
  static final class Value {
    private final TensorType type;
    private @Nullable DeviceTensor tensor;

    /** That of a resident tensor. */
    private @Nullable String handle;

    /** The last step that makes or reads it; -1 for none. */
    private int lastUse = -1;

    private boolean isOutput;

    private Value(TensorType type) {
      this.type = type;
    }

    TensorType type() {
      return type;
    }

    /** The handle of a resident tensor, even if the request has its name; null for others. */
    @Nullable String handle() {
      return handle;
    }

    /** Whether it was there before the run. */
    Optional<DeviceTensor> present() {
      return Optional.ofNullable(tensor);
    }

    DeviceTensor tensor() {
      return Objects.requireNonNull(tensor);
    }

    /** Says where it lies. */
    void lieAt(DeviceTensor place) {
      tensor = place;
    }

    int lastUse() {
      return lastUse;
    }

    boolean isOutput() {
      return isOutput;
    }
  }

  /**
   * A step.
   *
   * @param op its name
   * @param inPlace whether an output may lie where an input lies
   * @param dtype that of its first input
   */
  record Step(
      String op,
      boolean inPlace,
      Plan plan,
      String dtype,
      Map<String, Value> inputs,
      Map<String, Value> outputs) {}

  private static final Logger LOG = LoggerFactory.getLogger(StepsJob.class);

  /** What estimates begin with, of any device; how long the kernels take corrects them. */
  private static final double BYTES_PER_MICRO = 1e6;

  private static final double FLOPS_PER_MICRO = 1e8;
  private static final double LAUNCH_MICROS = 10;

  private final DeviceRuntime place;
  private final CapturedPipelines graphs;
  private final DeviceMemory memory;
  private final Tenant tenant;
  private final RequestContext terms;
  private final Deadline deadline;

  private final Pins pins;

  /** Where uploads come from and results go to. */
  private final RequestMemory inline;

  private final Map<Value, HostTensor> uploads = new LinkedHashMap<>();

  /** What lies on other devices. */
  private final Map<Value, Pin> foreign = new LinkedHashMap<>();

  private final List<Step> steps = new ArrayList<>();
  private final Scratch scratch;
  private final Outputs outputs;
  private Map<String, Result.Output> results = Map.of();

  /** The step whose fault it would be now; -1 where that is not known. */
  private volatile int current = -1;

  /** Whether the outputs were computed in another run's memory. */
  private boolean inCompany;

  /** Whether tensors that were there before may hold something new. */
  private boolean touched;

  private long preparing;
  private boolean committed;
  private @Nullable Ran ran;
  private @Nullable BatchLaunch together;
  private @Nullable CapturedPipeline replay;

  StepsJob(
      DeviceRuntime place, CapturedPipelines graphs, TenantTensors tensors, RequestContext terms) {
    this.place = place;
    this.graphs = graphs;
    memory = place.memory();
    tenant = terms.tenant();
    this.terms = terms;
    deadline = terms.deadline();
    pins = new Pins(tensors);
    scratch = new Scratch(memory);
    inline = terms.memory().hold();
    outputs = new Outputs(tensors, pins, scratch, inline);
  }

  // -- before it is queued

  /**
   * A tensor that comes from outside.
   *
   * @param field where it stands in the request
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

  /** A resident tensor; {@code field} is where its handle stands in the request. */
  Value resident(String handle, String field) {
    return resident(handle, null, field, field);
  }

  private Value resident(
      String handle, @Nullable List<Long> shape, String field, String shapeField) {
    var pin = pins.read(handle, field);
    var value = new Value(shape == null ? pin.type() : reshaped(pin.type(), shape, shapeField));
    value.handle = pin.handle(); // which names this tensor alone: another may get its name
    if (pin.home() == memory) {
      var there = pin.tensor();
      value.tensor = new DeviceTensor(value.type, there.buffer(), there.offset());
    } else {
      foreign.put(value, pin);
    }
    return value;
  }

  /** The same bytes in another shape. */
  private static TensorType reshaped(TensorType type, List<Long> shape, String field) {
    var other = Tensors.type(type.dtype(), shape, field);
    if (other.shape().elements() != type.shape().elements()) {
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          field,
          "%s is %s, but the tensor of its handle has %s; both must have as many elements"
              .formatted(field, other.shape(), type.shape()));
    }
    return other;
  }

  /** Adds a step, and answers its outputs. */
  Map<String, Value> step(Op op, Plan plan, String dtype, Map<String, Value> inputs) {
    var given = new HashMap<String, Value>();
    plan.outputs().forEach((name, type) -> given.put(name, new Value(type)));
    inputs.values().forEach(value -> value.lastUse = steps.size());
    given.values().forEach(value -> value.lastUse = steps.size());
    steps.add(new Step(op.description().name(), op.worksInPlace(), plan, dtype, inputs, given));
    return given;
  }

  /** Kernels of this run took so many nanoseconds to plan and to load. */
  void prepared(long nanos) {
    preparing += nanos;
  }

  /** How long it took to plan the run and to load its kernels, in nanoseconds. */
  long preparing() {
    return preparing;
  }

  /** Says where a value goes. */
  void output(String name, Value value, Destination destination) {
    if (destination instanceof Destination.Into(var handle)) {
      requireInPlace(handle, value, "outputs." + name + ".into");
    }
    value.isOutput = true;
    outputs.add(name, value, destination);
  }

  /**
   * Checks that a tensor which the run reads may be written as well. Several steps write it when
   * all of them have run; one step does so at once, if its op can.
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
            "%s is %s, which is the input \"%s\" as well; %s reads inputs after it begins to write, so name another tensor"
                .formatted(field, handle, name, step.op));
      }
      if (!input.type.equals(output.type)) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is %s, which is the input \"%s\" as well, as %s; in place it must be %s like the output"
                .formatted(field, handle, name, input.type, output.type));
      }
    });
  }

  /** Locks the contents of all tensors that it uses. */
  void lock(ContentLocks locks) {
    pins.lock(locks, terms);
  }

  // -- on the stream

  @Override
  public int device() {
    return place.number();
  }

  /** Estimates are wrong by kernel: each has its own share of the device's peak. */
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
    if (!graphs.areKept() || !isRepeatable()) {
      ran = stepByStep(stream, started);
      return;
    }
    var numbers = PipelineKey.numbers(steps);
    var wiring = PipelineKey.of(tenant, steps, numbers);
    replay = graphs.take(wiring).orElse(null);
    if (replay == null || !again(replay, numbers, stream, started)) {
      ran = stepByStep(stream, started);
      graphs.seen(wiring, ran.stepMicros());
    }
  }

  /**
   * Whether it may run as a graph: a deadline is looked at between steps, and one step is one
   * launch or few anyway.
   */
  private boolean isRepeatable() {
    return steps.size() > 1 && !deadline.isSet() && foreign.isEmpty();
  }

  private Ran stepByStep(Stream stream, long started) {
    try (var marks = new StreamTimer(stream)) {
      uploads.forEach((value, tensor) -> {
        value.tensor = scratch.tensor(value.type);
        stream.upload(tensor.data(), value.tensor().buffer(), 0);
      });
      foreign.forEach((value, pin) -> fetch(value, pin, stream));
      marks.set();
      for (int i = 0; i < steps.size(); i++) {
        if (i > 0 && deadline.isSet()) {
          stream.synchronize();
          deadline.check();
        }
        current = i;
        run(steps.get(i), i, stream);
        marks.set();
      }
      if (!deadline.isSet()) {
        current = -1; // a fault that a GPU tells of from here on may be any step's
      }
      outputs.download(stream);
      marks.set();
      stream.synchronize();
      int last = steps.size() + 1;
      var stepMicros = new ArrayList<Double>();
      for (int i = 1; i < last; i++) {
        stepMicros.add(marks.micros(i));
      }
      return new Ran(started, marks.micros(0), stepMicros, marks.micros(last), 1);
    }
  }

  /**
   * Has the device do what it has done before for others like this one.
   *
   * @return false when there is no memory for both; then that of the graph is given back
   */
  private boolean again(
      CapturedPipeline with, Map<Value, Integer> numbers, Stream stream, long started) {
    Function<Value, DeviceTensor> tensors =
        value -> with.tensor(Objects.requireNonNull(numbers.get(value)));
    try (var marks = new StreamTimer(stream)) {
      uploads.forEach(
          (value, tensor) -> stream.upload(tensor.data(), tensors.apply(value).buffer(), 0));
      marks.set();
      with.launch(stream);
      marks.set();
      outputs.takeAll(stream, tensors);
      marks.set();
      stream.synchronize();
      ran = new Ran(started, marks.micros(0), with.shares(marks.micros(1)), marks.micros(2), 1);
      place.metrics().graphLaunch();
      return true;
    } catch (DeviceException.OutOfMemory e) {
      LOG.debug("no memory for a graph of {} steps and its outputs", steps.size(), e);
      stream.synchronize(); // what was enqueued uses the memory that is given back
      scratch.free();
      graphs.refuse(with);
      replay = null;
      return false;
    }
  }

  /** Copies a tensor from another device, by way of the host. */
  private void fetch(Value value, Pin pin, Stream stream) {
    try (var arena = Arena.ofConfined()) {
      var host = arena.allocate(value.type.bytes(), Long.BYTES);
      pin.home().read(pin.tensor().buffer(), host);
      value.tensor = scratch.tensor(value.type);
      stream.upload(host, value.tensor().buffer(), 0);
      stream.synchronize(); // the copy reads host memory that ends here
    }
  }

  Ran ran() {
    return Objects.requireNonNull(ran, "it has run");
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
        place.kernels(), stream, new Bindings(inputs, results, workspace, step.inPlace));
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
   * Whether an output goes straight into a tensor that is there already, which takes no memory.
   * With a deadline, or where a later step may fail, such a tensor is written only once that cannot
   * happen any more.
   */
  private boolean writesDirectly() {
    return steps.size() == 1 && !deadline.isSet() && !inCompany;
  }

  private DeviceTensor target(Value value) {
    return Optional.of(value)
        .filter(_ -> writesDirectly())
        .flatMap(outputs::target)
        .orElseGet(() -> scratch.tensor(value.type));
  }

  // -- in company; see Together

  /** Lets the run, of one step, share a launch, unless it takes something from elsewhere. */
  void share(BatchLaunch with) {
    if (foreign.isEmpty()) {
      together = with;
    }
  }

  /** What it takes on the way. */
  Scratch scratch() {
    return scratch;
  }

  DeviceRuntime place() {
    return place;
  }

  @Override
  public Optional<Ticket.Batch> batch() {
    return Optional.ofNullable(together).map(BatchLaunch::batch);
  }

  @Override
  public boolean runTogether(Stream stream, List<Job> jobs) {
    return Objects.requireNonNull(together, "it has a batch")
        .run(stream, jobs.stream().map(StepsJob.class::cast).toList());
  }

  Step onlyStep() {
    return steps.getFirst();
  }

  /** Brings an input's elements to a place in memory. */
  void copyInput(String name, Stream stream, Buffer target, long offset) {
    var value = Objects.requireNonNull(onlyStep().inputs.get(name));
    var upload = uploads.get(value);
    if (upload != null) {
      stream.upload(upload.data(), target, offset);
    } else {
      stream.copy(value.tensor().buffer(), 0, target, offset, value.type.bytes());
    }
  }

  /** Takes an output's elements from a place in memory, to where the client wants them. */
  void takeOutput(String name, Stream stream, Buffer source, long offset) {
    inCompany = true;
    var value = Objects.requireNonNull(onlyStep().outputs.get(name));
    outputs.take(value, stream, source, offset);
  }

  @Override
  public void leave() {
    scratch.free();
    inCompany = false;
  }

  void ranTogether(Ran all) {
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

  // -- after all

  @Override
  public void close() {
    try (pins;
        inline) {
      if (!committed) {
        outputs.abandon(touched);
      }
      scratch.free();
      if (replay != null) {
        giveBack(replay);
      }
    }
  }

  /** After a fault nobody knows what state a graph is in. */
  private void giveBack(CapturedPipeline used) {
    if (ran == null) {
      graphs.drop(used);
    } else {
      graphs.giveBack(used);
    }
  }

  /** How many steps there are until now. */
  int size() {
    return steps.size();
  }

  List<Step> steps() {
    return steps;
  }

  /** The step whose fault a failure of the run is, as far as that is known. */
  Optional<Failure.Step> current() {
    int at = current;
    return at < 0 ? Optional.empty() : Optional.of(new Failure.Step(at, steps.get(at).op));
  }

  Map<String, Result.Output> outputs() {
    return results;
  }
}
