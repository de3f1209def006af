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
import dev.athanor.service.run.StepsJob.Ran;
import dev.athanor.service.run.StepsJob.Value;
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
 * Runs of one op that differ in their rows only, done in one launch: rows are laid one after the
 * other, the rest is the same tensors. Where the launch is of the kernel that each would have had,
 * each gets bit for bit what it would have got alone; see {@link Rows}.
 */
final class BatchLaunch {

  /** Larger runs fill the device on their own, and copying them would take as long. */
  private static final long MOST_BYTES = 4 << 20;

  /**
   * What runs must have in common.
   *
   * @param kernel of each alone; null where the launch may have any
   * @param rows the types of a row
   * @param shared the handles of the other inputs, and the types that they are taken as
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
  private final DeviceRuntime place;
  private final Ticket.Batch batch;

  private BatchLaunch(
      Op op,
      Attributes attributes,
      @Nullable String kernel,
      Rows rows,
      DeviceRuntime place,
      Ticket.Batch batch) {
    this.op = op;
    this.attributes = attributes;
    this.kernel = kernel;
    this.rows = rows;
    this.place = place;
    this.batch = batch;
  }

  /**
   * How a run of one step can share a launch.
   *
   * @param kernel that the launch must have; null for any
   * @param handles of the inputs that are resident
   * @param place on which it runs
   * @return empty when it cannot, or had better not
   */
  static Optional<BatchLaunch> of(
      Op op,
      Attributes attributes,
      @Nullable String kernel,
      StepsJob.Step step,
      Map<String, String> handles,
      DeviceRuntime place) {
    var types = new HashMap<String, TensorType>();
    step.inputs().forEach((name, value) -> types.put(name, value.type()));
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
          if (bytes > MOST_BYTES) {
            return Optional.empty();
          }
          var key =
              new Key(place.number(), op.description().name(), attributes, kernel, row, shared);
          return Optional.of(
              new BatchLaunch(op, attributes, kernel, rows, place, new Ticket.Batch(key, count)));
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
   * Does all runs.
   *
   * @param jobs of this batch
   * @return false when they cannot be done at once
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
    var found = place.plan(new Problem(op, types, attributes), kernel);
    if (found.isEmpty()) {
      return false;
    }
    var plan = found.get();
    plan.load(place.kernels());
    long ready = System.nanoTime();
    jobs.forEach(job -> job.prepared(ready - started));
    try (var marks = new StreamTimer(stream)) {
      var inputs = inputs(stream, jobs, types);
      marks.set();
      var outputs = new HashMap<String, DeviceTensor>();
      plan.outputs().forEach((name, type) -> outputs.put(name, head.scratch().tensor(type)));
      plan.enqueue(
          place.kernels(), stream, new Bindings(inputs, outputs, head.scratch().workspace(plan)));
      marks.set();
      outputs.forEach((name, all) -> {
        long at = 0;
        for (var job : jobs) {
          job.takeOutput(name, stream, all.buffer(), at);
          at += Objects.requireNonNull(job.onlyStep().outputs().get(name)).type().bytes();
        }
      });
      marks.set();
      stream.synchronize();
      for (var job : jobs) {
        job.ranTogether(
            new Ran(
                ready,
                marks.micros(0),
                List.of(marks.micros(1)),
                marks.micros(2),
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

  private static Value input(StepsJob job, String name) {
    return Objects.requireNonNull(job.onlyStep().inputs().get(name), name);
  }

  private static long rows(Value value) {
    return value.type().shape().extent(0);
  }
}
