package dev.athanor.client;

import dev.athanor.client.ops.AsyncOperations;
import dev.athanor.client.ops.Operations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Operations that run in one request. Intermediate values stay on the device. The methods record
 * steps, and {@link #run()} runs them, any number of times. Not thread-safe.
 *
 * <pre>{@code
 * var p = athanor.pipeline();
 * var h = p.rmsNorm(x, o -> o.gamma(gamma));
 * var z = p.matmul(h, w);
 * HostTensor values = p.run().values(z);
 * }</pre>
 */
public final class Pipeline extends Operations<Pipeline.Value> {

  private final Session session;
  private final Recorder recorder;
  private final Map<String, Tensor> into = new HashMap<>();
  private @Nullable Duration deadline;
  private int priority;

  Pipeline(Session session) {
    this(session, new Recorder());
  }

  private Pipeline(Session session, Recorder recorder) {
    super(new AsyncOperations<>(recorder::record));
    this.session = session;
    this.recorder = recorder;
  }

  /** An output of a step. */
  public static final class Value implements Operand {
    private final Recorder owner;
    private final String name;

    private Value(Recorder owner, String name) {
      this.owner = owner;
      this.name = name;
    }

    @Override
    public Operand reshape(long... shape) {
      return TensorView.reshaped(this, Shapes.list(shape));
    }

    /** Returns some elements as another tensor, like {@link Tensor#view}. */
    public Operand view(long[] shape, long offset, long... strides) {
      return TensorView.part(this, shape, offset, strides);
    }
  }

  /** The outputs of a run. */
  public static final class Result {
    private final Map<String, HostTensor> values = new HashMap<>();
    private final Map<String, Tensor> tensors = new HashMap<>();

    private Result() {}

    /**
     * Returns an output on the host.
     *
     * @throws IllegalArgumentException if the pipeline does not return it
     */
    public HostTensor values(Value value) {
      return find(values, value, "inline");
    }

    /**
     * Returns an output on the device.
     *
     * @throws IllegalArgumentException if the pipeline does not keep it
     */
    public Tensor tensor(Value value) {
      return find(tensors, value, "keep");
    }

    private static <T> T find(Map<String, T> outputs, Value value, String method) {
      var output = outputs.get(value.name);
      if (output == null) {
        throw new IllegalArgumentException(
            "The pipeline has no such output; call %s before run.".formatted(method));
      }
      return output;
    }
  }

  /** The recorded steps and the names of their values. */
  private static final class Recorder {
    private final Map<String, Operand> inputs = new LinkedHashMap<>();
    private final IdentityHashMap<Operand, String> names = new IdentityHashMap<>();
    private final List<Transport.Step> steps = new ArrayList<>();
    private final List<Tensor> residents = new ArrayList<>();
    private final Set<String> unread = new HashSet<>();
    private final Map<String, Transport.Target> targets = new LinkedHashMap<>();

    CompletableFuture<Map<String, Value>> record(OpCall call) {
      if (!call.into().isEmpty() || call.deadline() != null || call.priority() != 0) {
        throw new IllegalArgumentException(
            "A step has no deadline, priority or target; set them on the pipeline.");
      }
      var stepInputs = new LinkedHashMap<String, Transport.Source>();
      call.inputs().forEach((name, operand) -> stepInputs.put(name, source(operand)));
      var names = new LinkedHashMap<String, String>();
      var values = new LinkedHashMap<String, Value>();
      for (var output : call.outputs()) {
        var name = "s%d.%s".formatted(steps.size(), output);
        names.put(output, name);
        unread.add(name);
        values.put(output, new Value(this, name));
      }
      steps.add(new Transport.Step(call.op(), stepInputs, call.attributes(), names));
      return CompletableFuture.completedFuture(values);
    }

    private Transport.Source source(Operand operand) {
      return operand instanceof TensorView view && view.of() instanceof Value value
          ? new Transport.Source(name(value), view)
          : new Transport.Source(name(operand), null);
    }

    private String name(Operand operand) {
      if (operand instanceof Value value) {
        var name = check(value);
        unread.remove(name);
        return name;
      }
      if (operand instanceof Tensor tensor) {
        residents.add(tensor);
        if (!Session.isName(tensor.handle())) {
          return tensor.handle();
        }
        // its name could equal that of a value; an input name is unique
      }
      var known = names.get(operand);
      if (known != null) {
        return known;
      }
      var name = "in" + inputs.size();
      inputs.put(name, operand);
      names.put(operand, name);
      return name;
    }

    String check(Value value) {
      if (value.owner != this) {
        throw new IllegalArgumentException("The value belongs to another pipeline.");
      }
      return value.name;
    }

    /** Returns the targets; by default, all values that no step reads are returned inline. */
    Map<String, Transport.Target> outputs() {
      if (!targets.isEmpty()) {
        return targets;
      }
      var all = new LinkedHashMap<String, Transport.Target>();
      unread.forEach(name -> all.put(name, Transport.Target.INLINE));
      return all;
    }
  }

  /**
   * Returns a value to the host. If no targets are set, all values that no step reads are returned.
   */
  public Pipeline inline(Value value) {
    recorder.targets.put(recorder.check(value), Transport.Target.INLINE);
    return this;
  }

  /** Keeps a value on the device as a new tensor of each run. */
  public Pipeline keep(Value value) {
    recorder.targets.put(recorder.check(value), Transport.Target.KEEP);
    return this;
  }

  /** Writes a value into a tensor of its dtype and shape once all steps have run. */
  public Pipeline into(Value value, Tensor tensor) {
    var name = recorder.check(value);
    recorder.targets.put(name, new Transport.Target(tensor.handle(), false));
    into.put(name, tensor);
    return this;
  }

  /** Bounds the time of a run, retries included. */
  public Pipeline deadline(Duration limit) {
    deadline = limit;
    return this;
  }

  /** Sets the priority, 1 (first) to 5; 1 and 2 need the scope {@code priority}. */
  public Pipeline priority(int value) {
    priority = value;
    return this;
  }

  /**
   * Runs the steps.
   *
   * @throws AthanorException if a step fails; {@code step} is its index
   */
  public Result run() {
    return await(runAsync());
  }

  CompletableFuture<Result> runAsync() {
    var program =
        new Transport.Program(
            Map.copyOf(recorder.inputs), List.copyOf(recorder.steps), recorder.outputs());
    var kind = Session.Call.of(program.outputs(), deadline, priority);
    var outputs = session.call("pipeline", kind, (to, context) -> to.run(program, context));
    return Futures.map(Futures.keeping(this, outputs), this::result);
  }

  private Result result(Map<String, Transport.Output> outputs) {
    var result = new Result();
    outputs.forEach((name, output) -> {
      if (output.values() != null) {
        result.values.put(name, output.values());
      } else {
        result.tensors.put(name, session.adopt(output.onDevice(), into.get(name)));
      }
    });
    return result;
  }
}
