package dev.athanor.service.run;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.device.RunSettings;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.metrics.Timeline;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Placement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * Runs calls and pipelines. It resolves inputs, plans, reserves memory, queues the job and waits
 * for it. Everything that the result does not keep is released, even on failure.
 */
public final class OpRunner {

  /** Maximum size of the inline outputs of one call, in bytes. */
  static final long MAX_INLINE_BYTES = Integer.MAX_VALUE - 16;

  /** The metric label that pipelines use instead of an op's name. */
  public static final String PIPELINE = "pipeline";

  private final DeviceRuntimes runtimes;
  private final Placement placement;
  private final BiConsumer<DeviceRuntime, Problem> onPlan;
  private final TensorStore store;
  private final StreamPool streams;
  private final boolean batchInvariant;
  private final boolean rowInvariant;

  /** The captured pipelines of each device, by its number. */
  private final List<CapturedPipelines> pipelines;

  /**
   * Creates a runner on the given devices.
   *
   * @param onPlan called with each problem that is planned for the first time
   */
  public OpRunner(
      DeviceRuntimes runtimes,
      Placement placement,
      BiConsumer<DeviceRuntime, Problem> onPlan,
      TensorStore store,
      StreamPool streams,
      RunSettings settings) {
    this.runtimes = runtimes;
    this.placement = placement;
    this.onPlan = onPlan;
    this.store = store;
    this.streams = streams;
    batchInvariant = settings.batchInvariant();
    rowInvariant = settings.rowInvariant();
    pipelines = runtimes.all().stream().map(runtime -> pipelines(runtime, settings)).toList();
  }

  private static CapturedPipelines pipelines(DeviceRuntime runtime, RunSettings settings) {
    var device = runtime.device();
    var pipelines =
        new CapturedPipelines(
            device,
            runtime.memory(),
            runtime.kernels(),
            settings.graphCacheSize(device.capability()));
    runtime.attach(pipelines);
    return pipelines;
  }

  /**
   * Runs an op and waits for its result.
   *
   * @throws Failure if the request is invalid, cannot be served now, or fails
   */
  public Result run(Call call) {
    return start(call).get();
  }

  /**
   * Starts an op. Of the runs that use the same tensor, each sees what those that were started
   * earlier wrote.
   *
   * @return waits for the result; must be called
   * @throws Failure if the request is invalid or cannot be served now; the returned supplier throws
   *     it if the run fails
   */
  public Supplier<Result> start(Call call) {
    long asked = System.nanoTime();
    var runtime = chooseRuntime(call);
    var run = start(call, runtime, asked);
    return () -> {
      var result = run.get();
      runtime
          .metrics()
          .ran(call.context().tenant(), call.op().description().name(), result.timing()::micros);
      return result;
    };
  }

  /** Runs an op on the given device, for the service itself. */
  Result run(Call call, DeviceRuntime runtime) {
    return start(call, runtime, System.nanoTime()).get();
  }

  private Supplier<Result> start(Call call, DeviceRuntime runtime, long asked) {
    var run = orInternal(() -> start(prepare(call, runtime), asked, call.context()));
    return () -> orInternal(run);
  }

  /** Does work whose unexpected exceptions are faults of the service. */
  private static <T> T orInternal(Supplier<T> work) {
    try {
      return work.get();
    } catch (Failure e) {
      throw e;
    } catch (RuntimeException e) {
      throw DeviceHealth.internal(e);
    }
  }

  private DeviceRuntime chooseRuntime(Call call) {
    var reads = new ArrayList<String>();
    call.inputs().values().forEach(input -> addHandle(reads, input));
    var targets = new ArrayList<>(call.outputs().values());
    if (call.defaultTarget() != null) {
      targets.add(call.defaultTarget());
    }
    return chooseRuntime(call.context(), reads, targets);
  }

  private DeviceRuntime chooseRuntime(Pipeline pipeline) {
    var reads = new ArrayList<String>();
    pipeline.inputs().values().forEach(input -> addHandle(reads, input));
    pipeline.steps().forEach(step -> reads.addAll(step.inputs().values()));
    return chooseRuntime(pipeline.context(), reads, pipeline.outputs().values());
  }

  private static void addHandle(List<String> reads, Call.Input input) {
    if (input instanceof Call.Input.Resident(var handle, _)) {
      reads.add(handle);
    }
  }

  private DeviceRuntime chooseRuntime(
      RequestContext context, List<String> reads, Collection<Target> targets) {
    var writes = new ArrayList<String>();
    boolean keeps = false;
    for (var target : targets) {
      switch (target.destination()) {
        case Destination.Into(var handle, _, _) -> writes.add(handle);
        case Destination.Keep _ -> keeps = true;
        case Destination.Inline _ -> {}
      }
    }
    return placement.ofRun(context.tenant(), reads, writes, keeps);
  }

  /**
   * Plans a problem for the first device without running it.
   *
   * @param problem the problem in the syntax of {@link Problem#parse}
   * @throws Failure.Refused if the text cannot be parsed or the op rejects the problem
   */
  public Plan plan(Op op, String problem) {
    try {
      return runtimes.first().plan(parse(op, problem));
    } catch (OpException e) {
      throw OpFailures.explain(op.description(), e, "");
    }
  }

  private static Problem parse(Op op, String text) {
    try {
      return Problem.parse(op, text);
    } catch (IllegalArgumentException e) {
      throw new Failure.Refused(Code.INVALID_ATTRIBUTE, "problem", String.valueOf(e.getMessage()));
    }
  }

  /**
   * Runs a pipeline and waits for its result.
   *
   * @throws Failure as for a call; it names the failed step
   */
  public Result run(Pipeline pipeline) {
    return start(pipeline).get();
  }

  /** Starts a pipeline, as {@link #start(Call)} starts an op. */
  public Supplier<Result> start(Pipeline pipeline) {
    long asked = System.nanoTime();
    var job = prepare(pipeline, chooseRuntime(pipeline));
    var run = namingStep(job, () -> start(job, asked, pipeline.context()));
    return () -> {
      var result = namingStep(job, run);
      job.runtime().metrics().ran(pipeline.context().tenant(), PIPELINE, result.timing()::micros);
      return result;
    };
  }

  /** Does work of a pipeline, whose failure names the step. */
  private static <T> T namingStep(StepsJob job, Supplier<T> work) {
    try {
      return work.get();
    } catch (Failure e) {
      throw job.current().map(e::in).orElse(e);
    } catch (RuntimeException e) {
      var failure = DeviceHealth.internal(e);
      throw job.current().map(failure::in).orElse(failure);
    }
  }

  private Supplier<Result> start(StepsJob job, long asked, RequestContext context) {
    var submitted = streams.start(job, context);
    return () -> {
      submitted.await();
      return result(job, asked);
    };
  }

  private static Result result(StepsJob job, long asked) {
    var ran = job.ran();
    var timing =
        new Result.Timing(
            job.prepareNanos() / 1e3,
            (ran.started() - asked - job.prepareNanos()) / 1e3,
            ran.uploadMicros(),
            ran.kernelMicros(),
            ran.downloadMicros(),
            (System.nanoTime() - asked) / 1e3);
    var steps = new ArrayList<Result.Step>();
    for (int i = 0; i < job.steps().size(); i++) {
      var step = job.steps().get(i);
      steps.add(
          new Result.Step(
              step.op(), step.plan().kernel(), ran.stepMicros().get(i), step.copiedBytes()));
    }
    var metrics = job.runtime().metrics();
    if (job.batchSize() > 0) {
      job.steps().forEach(step -> metrics.launch(step.op(), job.batchSize()));
    }
    record(metrics, job.steps(), steps, timing);
    metrics.timeline(asked).ifPresent(timeline -> trace(timeline, steps, timing));
    return new Result(job.runtime().id(), steps, job.outputs(), timing, job.batchSize());
  }

  /**
   * Validates and plans a call. Every invalid request is rejected here, before device work starts.
   */
  private StepsJob prepare(Call call, DeviceRuntime runtime) {
    var job = job(runtime, call.context());
    try {
      var op = call.op().description();
      var inputs = new HashMap<String, RunValue>();
      op.byName(call.inputs())
          .forEach((name, input) -> inputs.put(name, job.inputs().add(input, "inputs." + name)));
      call.outputs().keySet().forEach(name -> requireOutput(op, name));
      var attributes = CallAttributes.of(call);
      var given = step(job, call.op(), inputs, attributes);
      for (var output : op.outputs()) {
        var value = given.get(output.name());
        if (value != null) {
          var target = call.outputs().getOrDefault(output.name(), call.defaultTarget());
          if (target != null) {
            output(job, output.name(), value, target);
          }
        } else if (call.outputs().containsKey(output.name())) {
          throw notComputed(op, output.name(), "outputs." + output.name());
        }
      }
      var handles = new HashMap<String, String>();
      inputs.forEach((name, value) -> {
        if (value.handle() != null) {
          handles.put(name, value.handle() + " from byte " + value.offset());
        }
      });
      boolean invariant = batchInvariant || job.isRowInvariant();
      var alone = invariant ? job.onlyStep().plan().kernel() : null;
      BatchLaunch.of(call.op(), attributes, alone, job.onlyStep(), handles, runtime)
          .ifPresent(job::joinBatch);
      job.lock(streams.locks());
      return job;
    } catch (OpException e) {
      job.close();
      throw OpFailures.explain(call.op().description(), e, "");
    } catch (RuntimeException e) {
      job.close();
      throw e;
    }
  }

  /**
   * Validates and plans a pipeline. The shapes of all steps are known before the first one runs.
   */
  private StepsJob prepare(Pipeline pipeline, DeviceRuntime runtime) {
    if (pipeline.steps().isEmpty() || pipeline.steps().size() > Pipeline.MAX_STEPS) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "steps",
          "steps has %d entries; a pipeline has 1 to %d"
              .formatted(pipeline.steps().size(), Pipeline.MAX_STEPS));
    }
    var job = job(runtime, pipeline.context());
    try {
      job.setCalls(pipeline.calls());
      var values = new PipelineValues(job, pipeline.inputs());
      for (int i = 0; i < pipeline.steps().size(); i++) {
        add(job, values, i, pipeline.steps().get(i));
      }
      values
          .outputs(pipeline.outputs())
          .forEach((name, target) -> output(job, name, values.produced(name), target));
      job.lock(streams.locks());
      return job;
    } catch (RuntimeException e) {
      job.close();
      throw e;
    }
  }

  private void add(StepsJob job, PipelineValues values, int index, Pipeline.Step step) {
    var op = step.op().description();
    var at = "steps[" + index + "].";
    try {
      var inputs = new HashMap<String, RunValue>();
      var views = op.byName(step.views());
      op.byName(step.inputs())
          .forEach((name, source) ->
              inputs.put(name, values.read(source, views.get(name), at + "inputs." + name)));
      step.outputs().keySet().forEach(name -> requireOutput(op, name));
      var given = step(job, step.op(), inputs, CallAttributes.of(op, step.attributes(), at));
      step.outputs()
          .forEach((output, name) -> {
            var field = at + "outputs." + output;
            var value = given.get(output);
            if (value == null) {
              throw notComputed(op, output, field);
            }
            values.define(name, value, field);
          });
    } catch (OpException e) {
      throw OpFailures.explain(op, e, at).in(new Failure.Step(index, op.name()));
    } catch (Failure e) {
      throw e.in(new Failure.Step(index, op.name()));
    }
  }

  private StepsJob job(DeviceRuntime runtime, RequestContext context) {
    context.deadline().check();
    return new StepsJob(
        runtime,
        pipelines.get(runtime.number()),
        store.of(context.tenant()),
        context.withRowInvariance(rowInvariant || context.rowInvariant()));
  }

  private Map<String, RunValue> step(
      StepsJob job, Op op, Map<String, RunValue> inputs, Attributes attributes) {
    var description = op.description();
    var types = new HashMap<String, TensorType>();
    inputs.forEach((name, value) -> types.put(name, value.type()));
    Catalogue.checkInputs(description, types);
    var runtime = job.runtime();
    long began = System.nanoTime();
    var layouts = RunStep.layouts(inputs);
    var plan =
        runtime.plan(
            op,
            types,
            attributes,
            layouts,
            job.isRowInvariant(),
            problem -> onPlan.accept(runtime, problem));
    job.addPrepareNanos(System.nanoTime() - began);
    var first = types.get(description.inputs().getFirst().name());
    var dtype = first == null ? "none" : first.dtype().text();
    return job.step(op, plan, dtype, inputs);
  }

  private static void output(StepsJob job, String name, RunValue value, Target target) {
    var dtype = value.type().dtype();
    if (target.dtype() != null && target.dtype() != dtype) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_DTYPE,
          "outputs." + name + ".dtype",
          "output \"%s\" is %s, got %s".formatted(name, dtype.text(), target.dtype().text()));
    }
    job.output(name, value, target.destination());
  }

  private static void requireOutput(OpDescription op, String name) {
    if (op.output(name).isEmpty()) {
      throw new OpException.UnknownField(
          "outputs." + name,
          "%s has no output \"%s\"; its outputs are %s"
              .formatted(op.name(), name, String.join(", ", OpNames.outputs(op))));
    }
  }

  private static Failure notComputed(OpDescription op, String output, String field) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        field,
        "%s does not compute output \"%s\" with these attributes".formatted(op.name(), output));
  }

  /**
   * Records metrics. Phases that all steps share count for the op, or for the pipeline if it has
   * several.
   */
  private static void record(
      Metrics metrics, List<RunStep> jobs, List<Result.Step> ran, Result.Timing timing) {
    boolean one = jobs.size() == 1;
    var name = one ? jobs.getFirst().op() : PIPELINE;
    var dtype = one ? jobs.getFirst().dtype() : "none";
    metrics.time(name, dtype, Phase.PREPARE, timing.prepare());
    metrics.time(name, dtype, Phase.QUEUE, timing.queue());
    metrics.time(name, dtype, Phase.UPLOAD, timing.upload());
    metrics.time(name, dtype, Phase.DOWNLOAD, timing.download());
    metrics.time(name, dtype, Phase.TOTAL, timing.total());
    for (int i = 0; i < jobs.size(); i++) {
      var step = jobs.get(i);
      metrics.time(step.op(), step.dtype(), Phase.KERNEL, ran.get(i).micros());
      metrics.work(step.op(), step.plan().cost().flops(), step.plan().cost().bytes());
    }
  }

  private static void trace(Timeline timeline, List<Result.Step> ran, Result.Timing timing) {
    var name = ran.size() == 1 ? ran.getFirst().op() : PIPELINE;
    timeline.add(Phase.PREPARE, name, null, timing.prepare());
    timeline.add(Phase.QUEUE, name, null, timing.queue());
    timeline.add(Phase.UPLOAD, name, null, timing.upload());
    for (var step : ran) {
      timeline.add(Phase.KERNEL, step.op(), step.kernel(), step.micros());
    }
    timeline.add(Phase.DOWNLOAD, name, null, timing.download());
  }
}
