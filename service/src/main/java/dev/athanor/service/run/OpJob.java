package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TenantTensors.Charge;
import dev.athanor.service.tensor.TensorOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One run of an op, with all that it holds. */
final class OpJob implements Job<OpJob.Ran> {

  /**
   * @param started on the clock of {@link System#nanoTime()}
   */
  record Ran(long started, double uploadMicros, double kernelMicros, double downloadMicros) {}

  /** An output on its way. */
  private static final class Out {
    final String name;
    final TensorType type;
    final Destination destination;
    final @Nullable Pin into;
    final @Nullable Charge charge;
    @Nullable Buffer buffer;
    @Nullable HostTensor host;

    Out(
        String name,
        TensorType type,
        Destination destination,
        @Nullable Pin into,
        @Nullable Charge charge) {
      this.name = name;
      this.type = type;
      this.destination = destination;
      this.into = into;
      this.charge = charge;
    }
  }

  /** What estimates begin with, of any device; how long the kernels take corrects them. */
  private static final double BYTES_PER_MICRO = 1e6;

  private static final double FLOPS_PER_MICRO = 1e8;
  private static final double LAUNCH_MICROS = 10;

  private final DeviceMemory memory;
  private final KernelCache kernels;
  private final TenantTensors tensors;
  private final Deadline deadline;

  private final Pins pins;
  private final Map<String, HostTensor> uploads = new LinkedHashMap<>();
  private final Map<String, DeviceTensor> inputs = new HashMap<>();
  private final List<Out> outs = new ArrayList<>();
  private final List<Buffer> temporaries = new ArrayList<>();
  private final Map<String, Result.Output> outputs = new LinkedHashMap<>();
  private @Nullable Plan plan;
  private String dtype = "none";
  private long inlineBytes;

  /** Whether tensors that were there before may hold something new. */
  private boolean touched;

  private boolean committed;

  OpJob(DeviceMemory memory, KernelCache kernels, TenantTensors tensors, Deadline deadline) {
    this.memory = memory;
    this.kernels = kernels;
    this.tensors = tensors;
    this.deadline = deadline;
    pins = new Pins(tensors);
  }

  // -- before it is queued

  TensorType input(String name, Call.Input input) {
    return switch (input) {
      case Call.Input.Inline(var tensor) -> {
        uploads.put(name, tensor);
        yield tensor.type();
      }
      case Call.Input.Resident(var handle) -> {
        var pin = pins.read(handle, "inputs." + name + ".handle");
        inputs.put(name, pin.tensor());
        yield pin.type();
      }
    };
  }

  void plan(Plan chosen, @Nullable TensorType first) {
    plan = chosen;
    dtype = first == null ? "none" : first.dtype().text();
  }

  void output(String name, TensorType type, Destination destination) {
    var out =
        switch (destination) {
          case Destination.Nowhere _ -> new Out(name, type, destination, null, null);
          case Destination.Inline(var readable) -> {
            if (!readable.contains(type.dtype())) {
              throw new Failure.Refused(
                  Code.UNSUPPORTED_DTYPE,
                  "outputs." + name,
                  "output \"%s\" is %s, which travels as raw bytes only; ask for those, or keep it as a handle"
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
            yield new Out(name, type, destination, null, null);
          }
          case Destination.Keep _ ->
              new Out(name, type, destination, null, tensors.charge(type.bytes()));
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
            yield new Out(name, type, destination, pin, null);
          }
        };
    outs.add(out);
  }

  void lock() {
    pins.lock(deadline);
  }

  // -- on the stream

  /** Estimates are wrong by kernel: each has its own share of the device's peak. */
  @Override
  public Object kind() {
    return plan().kernel();
  }

  @Override
  public long cost() {
    var cost = plan().cost();
    double micros = Math.max(cost.bytes() / BYTES_PER_MICRO, cost.flops() / FLOPS_PER_MICRO);
    return (long) ((LAUNCH_MICROS + micros) * 1e3) + Transfers.cost(hostBytes());
  }

  @Override
  public long hostBytes() {
    return inlineBytes + uploads.values().stream().mapToLong(t -> t.type().bytes()).sum();
  }

  @Override
  public Ran run(Stream stream) {
    long started = System.nanoTime();
    deadline.check();
    var results = new HashMap<String, DeviceTensor>();
    uploads.forEach((name, tensor) -> inputs.put(name, temporary(tensor.type())));
    for (var out : outs) {
      results.put(out.name, target(out));
    }
    var bindings = new Bindings(inputs, results, workspace());
    try (var start = stream.record()) {
      uploads.forEach((name, tensor) ->
          stream.upload(tensor.data(), Objects.requireNonNull(inputs.get(name)).buffer(), 0));
      try (var uploaded = stream.record()) {
        touched = !deadline.isSet();
        plan().enqueue(kernels, stream, bindings);
        try (var computed = stream.record()) {
          outs.forEach(out -> download(stream, out));
          try (var downloaded = stream.record()) {
            stream.synchronize();
            return new Ran(
                started,
                uploaded.microsSince(start),
                computed.microsSince(uploaded),
                downloaded.microsSince(computed));
          }
        }
      }
    }
  }

  private Optional<Buffer> workspace() {
    long bytes = plan().workspaceBytes();
    if (bytes == 0) {
      return Optional.empty();
    }
    var buffer = memory.allocate(bytes);
    temporaries.add(buffer);
    return Optional.of(buffer);
  }

  private DeviceTensor temporary(TensorType type) {
    var buffer = memory.allocate(type.bytes());
    temporaries.add(buffer);
    return new DeviceTensor(type, buffer);
  }

  /**
   * Where the op writes an output. With a deadline a tensor that is there already is written only
   * once the call is known to be in time; without one it is written directly, which takes no
   * memory.
   */
  private DeviceTensor target(Out out) {
    if (out.into != null && !deadline.isSet()) {
      return out.into.tensor();
    }
    var tensor = temporary(out.type);
    out.buffer = tensor.buffer();
    return tensor;
  }

  private void download(Stream stream, Out out) {
    if (out.destination instanceof Destination.Inline) {
      out.host = HostTensor.zeros(out.type);
      stream.download(Objects.requireNonNull(out.buffer), 0, out.host.data());
    }
  }

  @Override
  public void commit(Stream stream, Ran ran) {
    for (var out : outs) {
      if (out.into != null && out.buffer != null) {
        touched = true;
        stream.copy(out.buffer, 0, out.into.tensor().buffer(), 0, out.type.bytes());
      }
    }
    stream.synchronize();
    for (var out : outs) {
      if (!(out.destination instanceof Destination.Nowhere)) {
        outputs.put(out.name, commit(out));
      }
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
    var buffer = Objects.requireNonNull(out.buffer);
    temporaries.remove(buffer);
    return new Result.Output.Resident(
        Objects.requireNonNull(out.charge).add(out.type, buffer, TensorOptions.NONE));
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

  Plan plan() {
    return Objects.requireNonNull(plan);
  }

  /** The dtype of the first input. */
  String dtype() {
    return dtype;
  }

  Map<String, Result.Output> outputs() {
    return outputs;
  }
}
