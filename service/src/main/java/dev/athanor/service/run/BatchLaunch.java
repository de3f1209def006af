package dev.athanor.service.run;

import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.stream.StreamTimer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A batch of calls of one op that run as a single launch. Their rows are concatenated; all other
 * inputs are shared. If the batch uses the kernel that each call would use alone, the results are
 * bit-identical to separate launches; see {@link Rows}.
 */
final class BatchLaunch {

  /**
   * Maximum input bytes per call. Larger calls fill the device alone, and copying them costs as
   * much as it saves.
   */
  private static final long MAX_BYTES = 4 << 20;

  /**
   * The batch key: calls with equal keys can share a launch.
   *
   * @param kernel the kernel that the batch must use; null for any
   * @param rows the type of one row of each batched input
   * @param shared handle and type of each shared input
   */
  private record Key(
      int device,
      String op,
      Attributes attributes,
      @Nullable String kernel,
      Map<String, TensorType> rows,
      Map<String, String> shared) {}

  private final Op op;
  private final Attributes attributes;
  private final @Nullable String kernel;
  private final Rows rows;
  private final DeviceRuntime runtime;
  private final Ticket.Batch batch;

  private BatchLaunch(
      Op op,
      Attributes attributes,
      @Nullable String kernel,
      Rows rows,
      DeviceRuntime runtime,
      Ticket.Batch batch) {
    this.op = op;
    this.attributes = attributes;
    this.kernel = kernel;
    this.rows = rows;
    this.runtime = runtime;
    this.batch = batch;
  }

  /**
   * Creates the batch of a run of one step.
   *
   * @param kernel the kernel that the batch must use; null for any
   * @param handles the handles of resident inputs, and where their elements start
   * @param runtime the device of the run
   * @return empty if the run cannot share a launch or is too large to benefit
   */
  static Optional<BatchLaunch> of(
      Op op,
      Attributes attributes,
      @Nullable String kernel,
      RunStep step,
      Map<String, String> handles,
      DeviceRuntime runtime) {
    var types = new HashMap<String, TensorType>();
    step.inputs().forEach((name, value) -> types.put(name, value.type()));
    if (!RunStep.layouts(step.inputs()).isEmpty()
        || types.values().stream().anyMatch(TensorType::isEmpty)) {
      return Optional.empty();
    }
    return op.rows(types, attributes)
        .flatMap(rows -> {
          var row = new HashMap<String, TensorType>();
          var shared = new HashMap<String, String>();
          long bytes = 0;
          long count = 1;
          for (var input : types.entrySet()) {
            if (rows.inputs().contains(input.getKey())) {
              bytes += input.getValue().bytes();
              count = input.getValue().shape().extent(0);
              row.put(input.getKey(), withRows(input.getValue(), 1));
            } else if (handles.containsKey(input.getKey())) {
              shared.put(input.getKey(), handles.get(input.getKey()) + " as " + input.getValue());
            } else {
              return Optional.empty();
            }
          }
          if (bytes > MAX_BYTES) {
            return Optional.empty();
          }
          var key =
              new Key(runtime.number(), op.description().name(), attributes, kernel, row, shared);
          return Optional.of(
              new BatchLaunch(op, attributes, kernel, rows, runtime, new Ticket.Batch(key, count)));
        });
  }

  private static TensorType withRows(TensorType type, long count) {
    var extents = new ArrayList<>(type.shape().extents());
    extents.set(0, count);
    return new TensorType(type.dtype(), new Shape(extents));
  }

  Ticket.Batch batch() {
    return batch;
  }

  /**
   * Runs all jobs in one launch.
   *
   * @param jobs the jobs of this batch, the leader first
   * @return false if no plan exists for the whole batch; nothing has run then
   */
  boolean run(Stream stream, List<StepsJob> jobs) {
    long started = System.nanoTime();
    var head = jobs.getFirst();
    var types = new HashMap<String, TensorType>();
    head.onlyStep().inputs().forEach((name, value) -> types.put(name, value.type()));
    for (var name : rows.inputs()) {
      long count = jobs.stream().mapToLong(job -> rows(input(job, name))).sum();
      types.put(name, withRows(input(head, name).type(), count));
    }
    var found = runtime.plan(new Problem(op, types, attributes), kernel);
    if (found.isEmpty()) {
      return false;
    }
    var plan = found.get();
    plan.load(runtime.kernels());
    long ready = System.nanoTime();
    jobs.forEach(job -> job.addPrepareNanos(ready - started));
    try (var timer = new StreamTimer(stream)) {
      var inputs = inputs(stream, jobs, types);
      timer.mark();
      var outputs = new HashMap<String, DeviceTensor>();
      plan.outputs().forEach((name, type) -> outputs.put(name, head.scratch().tensor(type)));
      plan.enqueue(
          runtime.kernels(), stream, new Bindings(inputs, outputs, head.scratch().workspace(plan)));
      timer.mark();
      outputs.forEach((name, all) -> {
        long at = 0;
        for (var job : jobs) {
          job.takeOutput(name, stream, all.buffer(), at);
          at += Objects.requireNonNull(job.onlyStep().outputs().get(name)).type().bytes();
        }
      });
      timer.mark();
      stream.synchronize();
      for (var job : jobs) {
        job.setBatchTiming(
            new RunTiming(
                ready,
                timer.micros(0),
                List.of(timer.micros(1)),
                timer.micros(2),
                job == head ? jobs.size() : 0));
      }
      return true;
    }
  }

  private Map<String, DeviceTensor> inputs(
      Stream stream, List<StepsJob> jobs, Map<String, TensorType> types) {
    var head = jobs.getFirst();
    var inputs = new HashMap<String, DeviceTensor>();
    types.forEach((name, type) -> {
      if (!rows.inputs().contains(name)) {
        inputs.put(name, input(head, name).tensor());
        return;
      }
      var all = head.scratch().tensor(type);
      long at = 0;
      for (var job : jobs) {
        job.copyInput(name, stream, all.buffer(), at);
        at += input(job, name).type().bytes();
      }
      inputs.put(name, all);
    });
    return inputs;
  }

  private static RunValue input(StepsJob job, String name) {
    return Objects.requireNonNull(job.onlyStep().inputs().get(name), name);
  }

  private static long rows(RunValue value) {
    return value.type().shape().extent(0);
  }
}
