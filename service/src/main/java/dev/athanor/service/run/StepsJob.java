package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TenantTensors.Charge;
import dev.athanor.service.tensor.TensorOptions;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

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

    /** The last step that makes or reads it; -1 for none. */
    private int lastUse = -1;

    private boolean isOutput;

    private Value(TensorType type) {
      this.type = type;
    }

    TensorType type() {
      return type;
    }

    DeviceTensor tensor() {
      return Objects.requireNonNull(tensor);
    }
  }

  /**
   * A step.
   *
   * @param op its name
   * @param dtype that of its first input
   */
  record Step(
      String op, Plan plan, String dtype, Map<String, Value> inputs, Map<String, Value> outputs) {}

  /** An output on its way. */
  private static final class Out {
    final String name;
    final Value value;
    final Destination destination;
    final @Nullable Pin into;
    final @Nullable Charge charge;
    @Nullable HostTensor host;

    Out(
        String name,
        Value value,
        Destination destination,
        @Nullable Pin into,
        @Nullable Charge charge) {
      this.name = name;
      this.value = value;
      this.destination = destination;
      this.into = into;
      this.charge = charge;
    }
  }

  /** What estimates begin with, of any device; how long the kernels take corrects them. */
  private static final double BYTES_PER_MICRO = 1e6;

  private static final double FLOPS_PER_MICRO = 1e8;
  private static final double LAUNCH_MICROS = 10;

  private final Place place;
  private final DeviceMemory memory;
  private final TenantTensors tensors;
  private final Deadline deadline;

  private final Pins pins;
  private final Map<Value, HostTensor> uploads = new LinkedHashMap<>();

  /** What lies on other devices. */
  private final Map<Value, Pin> foreign = new LinkedHashMap<>();

  private final List<Step> steps = new ArrayList<>();
  private final List<Out> outs = new ArrayList<>();
  private final List<Buffer> temporaries = new ArrayList<>();
  private final Map<String, Result.Output> outputs = new LinkedHashMap<>();
  private long inlineBytes;

  /** The step whose fault it would be now; -1 where that is not known. */
  private volatile int current = -1;

  /** Whether the outputs were computed in another run's memory. */
  private boolean inCompany;

  /** Whether tensors that were there before may hold something new. */
  private boolean touched;

  private boolean committed;
  private @Nullable Ran ran;
  private @Nullable Together together;

  StepsJob(Place place, TenantTensors tensors, Deadline deadline) {
    this.place = place;
    memory = place.memory();
    this.tensors = tensors;
    this.deadline = deadline;
    pins = new Pins(tensors);
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
      case Call.Input.Resident(var handle) -> resident(handle, field + ".handle");
    };
  }

  /** A resident tensor; {@code field} is where its handle stands in the request. */
  Value resident(String handle, String field) {
    var pin = pins.read(handle, field);
    var value = new Value(pin.type());
    if (pin.home() == memory) {
      value.tensor = pin.tensor();
    } else {
      foreign.put(value, pin);
    }
    return value;
  }

  /** Adds a step, and answers its outputs. */
  Map<String, Value> step(String op, Plan plan, String dtype, Map<String, Value> inputs) {
    var given = new HashMap<String, Value>();
    plan.outputs().forEach((name, type) -> given.put(name, new Value(type)));
    inputs.values().forEach(value -> value.lastUse = steps.size());
    given.values().forEach(value -> value.lastUse = steps.size());
    steps.add(new Step(op, plan, dtype, inputs, given));
    return given;
  }

  /** Says where a value goes. */
  void output(String name, Value value, Destination destination) {
    var type = value.type;
    value.isOutput = true;
    var out =
        switch (destination) {
          case Destination.Inline(var readable) -> {
            if (!readable.contains(type.dtype())) {
              throw new Failure.Refused(
                  Code.NOT_ACCEPTABLE,
                  "outputs." + name,
                  "output \"%s\" is %s, for which the form of the answer has no dtype; ask for another form or keep it as a handle"
                      .formatted(name, type.dtype().text()));
            }
            inlineBytes += type.bytes();
            if (type.bytes() > OpRunner.MOST_INLINE || inlineBytes > OpRunner.MOST_INLINE) {
              throw new Failure.Refused(
                  Code.TOO_LARGE,
                  "outputs." + name,
                  "output \"%s\" is %s, too large to be sent inline; keep it as a handle"
                      .formatted(name, type));
            }
            yield new Out(name, value, destination, null, null);
          }
          case Destination.Keep _ ->
              new Out(name, value, destination, null, tensors.charge(type.bytes()));
          case Destination.Into(var handle) -> {
            var field = "outputs." + name + ".into";
            var pin = pins.write(handle, field);
            if (!pin.type().equals(type)) {
              throw new Failure.Refused(
                  Code.SHAPE_MISMATCH,
                  field,
                  "%s is %s, but output \"%s\" is %s; they must be equal"
                      .formatted(field, pin.type(), name, type));
            }
            yield new Out(name, value, destination, pin, null);
          }
        };
    outs.add(out);
  }

  void lock() {
    pins.lock(deadline);
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
    return inlineBytes + bytes(uploads.keySet()) + bytes(foreign.keySet());
  }

  private static long bytes(Collection<Value> values) {
    return values.stream().mapToLong(value -> value.type.bytes()).sum();
  }

  @Override
  public void run(Stream stream) {
    long started = System.nanoTime();
    deadline.check();
    try (var marks = new Marks(stream)) {
      uploads.forEach((value, tensor) -> {
        value.tensor = temporary(value.type);
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
      outs.forEach(out -> download(stream, out));
      marks.set();
      stream.synchronize();
      int last = steps.size() + 1;
      var stepMicros = new ArrayList<Double>();
      for (int i = 1; i < last; i++) {
        stepMicros.add(marks.micros(i));
      }
      ran = new Ran(started, marks.micros(0), stepMicros, marks.micros(last), 1);
    }
  }

  /** Copies a tensor from another device, by way of the host. */
  private void fetch(Value value, Pin pin, Stream stream) {
    try (var arena = Arena.ofConfined()) {
      var host = arena.allocate(value.type.bytes(), Long.BYTES);
      pin.home().read(pin.tensor().buffer(), host);
      value.tensor = temporary(value.type);
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
    var workspace = workspace(step.plan);
    touched = writesDirectly();
    step.plan.enqueue(place.kernels(), stream, new Bindings(inputs, results, workspace));
    workspace.ifPresent(buffer -> release(buffer, stream));
    for (var values : List.of(step.inputs.values(), step.outputs.values())) {
      for (var value : values) {
        if (value.lastUse == index && !value.isOutput) {
          release(value.tensor().buffer(), stream);
        }
      }
    }
  }

  /** What a plan computes on the way. */
  Optional<Buffer> workspace(Plan plan) {
    long bytes = plan.workspaceBytes();
    if (bytes == 0) {
      return Optional.empty();
    }
    var buffer = memory.allocate(bytes);
    temporaries.add(buffer);
    return Optional.of(buffer);
  }

  /** Memory that is given back with all else. */
  DeviceTensor temporary(TensorType type) {
    var buffer = memory.allocate(type.bytes());
    temporaries.add(buffer);
    return new DeviceTensor(type, buffer);
  }

  /** Frees memory behind the work that uses it, unless it is another's. */
  private void release(Buffer buffer, Stream stream) {
    if (temporaries.contains(buffer)) {
      memory.free(buffer, stream);
      temporaries.remove(buffer);
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
    if (writesDirectly()) {
      for (var out : outs) {
        if (out.value == value && out.into != null) {
          return out.into.tensor();
        }
      }
    }
    return temporary(value.type);
  }

  private static void download(Stream stream, Out out) {
    if (out.destination instanceof Destination.Inline) {
      out.host = HostTensor.zeros(out.value.type);
      stream.download(out.value.tensor().buffer(), 0, out.host.data());
    }
  }

  // -- in company; see Together

  /** Lets the run, of one step, share a launch, unless it takes something from elsewhere. */
  void share(Together with) {
    if (foreign.isEmpty()) {
      together = with;
    }
  }

  Place place() {
    return place;
  }

  @Override
  public Optional<Ticket.Batch> batch() {
    return Optional.ofNullable(together).map(Together::batch);
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
    for (var out : outs) {
      if (out.value == value) {
        if (out.destination instanceof Destination.Inline) {
          out.host = HostTensor.zeros(value.type);
          stream.download(source, offset, out.host.data());
        } else {
          value.tensor = temporary(value.type);
          stream.copy(source, offset, value.tensor().buffer(), 0, value.type.bytes());
        }
      }
    }
  }

  @Override
  public void leave() {
    temporaries.forEach(memory::free);
    temporaries.clear();
    inCompany = false;
  }

  void ranTogether(Ran all) {
    ran = all;
  }

  @Override
  public void commit(Stream stream) {
    for (var out : outs) {
      if (out.into != null && !writesDirectly()) {
        touched = true;
        stream.copy(
            out.value.tensor().buffer(), 0, out.into.tensor().buffer(), 0, out.value.type.bytes());
      }
    }
    stream.synchronize();
    for (var out : outs) {
      outputs.put(out.name, commit(out));
    }
    committed = true;
  }

  private Result.Output commit(Out out) {
    if (out.host != null) {
      return new Result.Output.Inline(out.host);
    }
    if (out.into != null) {
      return new Result.Output.Resident(out.into.written());
    }
    var buffer = out.value.tensor().buffer();
    temporaries.remove(buffer);
    return new Result.Output.Resident(
        Objects.requireNonNull(out.charge).add(out.value.type, memory, buffer, TensorOptions.NONE));
  }

  // -- after all

  @Override
  public void close() {
    if (!committed) {
      for (var out : outs) {
        if (out.charge != null) {
          out.charge.close();
        }
        if (out.into != null && touched) {
          out.into.written(); // nobody knows what a kernel that failed has left there
        }
      }
    }
    temporaries.forEach(memory::free);
    pins.close();
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
    return outputs;
  }

  /** Places in the stream, the first where it is made. */
  static final class Marks implements AutoCloseable {
    private final Stream stream;
    private final List<Event> events = new ArrayList<>();

    Marks(Stream stream) {
      this.stream = stream;
      set();
    }

    void set() {
      events.add(stream.record());
    }

    /** The time from a mark to the next. */
    double micros(int from) {
      return events.get(from + 1).microsSince(events.get(from));
    }

    @Override
    public void close() {
      events.forEach(Event::close);
    }
  }
}
