package dev.athanor.service.run;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.AttributeType;
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
import dev.athanor.service.run.StepsJob.Value;
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

/**
 * The one way to run ops: resolves inputs, plans, takes what is needed, waits for its turn, runs,
 * and gives back all that is not kept, whatever happens.
 */
public final class OpRunner {

  /** Host memory that the inline outputs of one call may take. */
  static final long MOST_INLINE = Integer.MAX_VALUE - 16;

  /** The label of metrics in place of an op's name. */
  public static final String PIPELINE = "pipeline";

  private final DeviceRuntimes places;
  private final Placement placement;
  private final BiConsumer<DeviceRuntime, Problem> onPlan;
  private final TensorStore store;
  private final StreamPool streams;
  private final boolean batchInvariant;

  /** The captured pipelines of each device, by its number. */
  private final List<CapturedPipelines> pipelines;

  /**
   * A runner on devices.
   *
   * @param onPlan is told of every problem that is planned anew
   */
  public OpRunner(
      DeviceRuntimes places,
      Placement placement,
      BiConsumer<DeviceRuntime, Problem> onPlan,
      TensorStore store,
      StreamPool streams,
      RunSettings settings) {
    this.places = places;
    this.placement = placement;
    this.onPlan = onPlan;
    this.store = store;
    this.streams = streams;
    batchInvariant = settings.batchInvariant();
    pipelines = places.all().stream().map(place -> pipelines(place, settings)).toList();
  }

  private static CapturedPipelines pipelines(DeviceRuntime place, RunSettings settings) {
    var device = place.device();
    var pipelines =
        new CapturedPipelines(
            device, place.memory(), place.kernels(), settings.graphCacheSize(device.capability()));
    place.attach(pipelines);
    return pipelines;
  }

  /**
   * Runs an op and waits for it.
   *
   * @throws Failure when the request is wrong, cannot be served now, or fails
   */
  public Result run(Call call) {
    long asked = System.nanoTime();
    return run(call, place(call), asked);
  }

  /** Runs an op on a device of the caller's choice. */
  Result run(Call call, DeviceRuntime place) {
    return run(call, place, System.nanoTime());
  }

  private Result run(Call call, DeviceRuntime place, long asked) {
    try {
      return run(prepare(call, place), asked, call.terms());
    } catch (Failure e) {
      throw e;
    } catch (RuntimeException e) {
      throw DeviceHealth.internal(e);
    }
  }

  private DeviceRuntime place(Call call) {
    var reads = new ArrayList<String>();
    call.inputs().values().forEach(input -> addHandle(reads, input));
    var targets = new ArrayList<>(call.outputs().values());
    if (call.others() != null) {
      targets.add(call.others());
    }
    return place(call.terms(), reads, targets);
  }

  private DeviceRuntime place(Pipeline pipeline) {
    var reads = new ArrayList<String>();
    pipeline.inputs().values().forEach(input -> addHandle(reads, input));
    pipeline.steps().forEach(step -> reads.addAll(step.inputs().values()));
    return place(pipeline.terms(), reads, pipeline.outputs().values());
  }

  private static void addHandle(List<String> reads, Call.Input input) {
    if (input instanceof Call.Input.Resident(var handle, _)) {
      reads.add(handle);
    }
  }

  private DeviceRuntime place(
      RequestContext terms, List<String> reads, Collection<Target> targets) {
    var writes = new ArrayList<String>();
    boolean keeps = false;
    for (var target : targets) {
      switch (target.destination()) {
        case Destination.Into(var handle) -> writes.add(handle);
        case Destination.Keep _ -> keeps = true;
        case Destination.Inline _ -> {}
      }
    }
    return placement.ofRun(terms.tenant(), reads, writes, keeps);
  }

  /**
   * How a problem would be computed on the first device; nothing runs.
   *
   * @param problem its text, as {@link Problem#parse} reads it
   * @throws Failure.Refused when the text is none or the op does not take what it says
   */
  public Plan plan(Op op, String problem) {
    try {
      return places.first().plan(parse(op, problem));
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
   * Runs a pipeline and waits for it.
   *
   * @throws Failure as for a call; it names the step that it concerns
   */
  public Result run(Pipeline pipeline) {
    long asked = System.nanoTime();
    var job = prepare(pipeline, place(pipeline));
    try {
      return run(job, asked, pipeline.terms());
    } catch (Failure e) {
      throw job.current().map(e::in).orElse(e);
    } catch (RuntimeException e) {
      var failure = DeviceHealth.internal(e);
      throw job.current().map(failure::in).orElse(failure);
    }
  }

  private Result run(StepsJob job, long asked, RequestContext terms) {
    streams.run(job, terms);
    var ran = job.ran();
    var timing =
        new Result.Timing(
            job.preparing() / 1e3,
            (ran.started() - asked - job.preparing()) / 1e3,
            ran.uploadMicros(),
            ran.kernelMicros(),
            ran.downloadMicros(),
            (System.nanoTime() - asked) / 1e3);
    var steps = new ArrayList<Result.Step>();
    for (int i = 0; i < job.steps().size(); i++) {
      var step = job.steps().get(i);
      steps.add(new Result.Step(step.op(), step.plan().kernel(), ran.stepMicros().get(i)));
    }
    var metrics = job.place().metrics();
    if (ran.company() > 0) {
      job.steps().forEach(step -> metrics.launch(step.op(), ran.company()));
    }
    record(metrics, job.steps(), steps, timing);
    metrics.timeline(asked).ifPresent(timeline -> trace(timeline, steps, timing));
    return new Result(job.place().id(), steps, job.outputs(), timing, ran.company());
  }

  /** All that can be refused is refused here, before the device has any work of it. */
  private StepsJob prepare(Call call, DeviceRuntime place) {
    var job = job(place, call.terms());
    try {
      var op = call.op().description();
      var inputs = new HashMap<String, Value>();
      op.byName(call.inputs())
          .forEach((name, input) -> inputs.put(name, job.input(input, "inputs." + name)));
      call.outputs().keySet().forEach(name -> requireOutput(op, name));
      var attributes = attributes(call);
      var given = step(job, call.op(), inputs, attributes);
      for (var output : op.outputs()) {
        var value = given.get(output.name());
        if (value != null) {
          var target = call.outputs().getOrDefault(output.name(), call.others());
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
          handles.put(name, value.handle());
        }
      });
      var alone = batchInvariant ? job.onlyStep().plan().kernel() : null;
      BatchLaunch.of(call.op(), attributes, alone, job.onlyStep(), handles, place)
          .ifPresent(job::share);
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

  /** The same of a pipeline: the shapes of all steps are known before the first of them runs. */
  private StepsJob prepare(Pipeline pipeline, DeviceRuntime place) {
    if (pipeline.steps().isEmpty() || pipeline.steps().size() > Pipeline.MOST_STEPS) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "steps",
          "there are %d steps; a pipeline has 1 to %d"
              .formatted(pipeline.steps().size(), Pipeline.MOST_STEPS));
    }
    var job = job(place, pipeline.terms());
    try {
      var values = new PipelineValues(job, pipeline.inputs());
      for (int i = 0; i < pipeline.steps().size(); i++) {
        add(job, values, i, pipeline.steps().get(i));
      }
      values
          .outputs(pipeline.outputs())
          .forEach((name, target) -> output(job, name, values.made(name), target));
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
      var inputs = new HashMap<String, Value>();
      op.byName(step.inputs())
          .forEach((name, source) -> inputs.put(name, values.read(source, at + "inputs." + name)));
      step.outputs().keySet().forEach(name -> requireOutput(op, name));
      var given = step(job, step.op(), inputs, Attributes.of(op, step.attributes()));
      step.outputs()
          .forEach((output, name) -> {
            var field = at + "outputs." + output;
            var value = given.get(output);
            if (value == null) {
              throw notComputed(op, output, field);
            }
            values.make(name, value, field);
          });
    } catch (OpException e) {
      throw OpFailures.explain(op, e, at).in(new Failure.Step(index, op.name()));
    } catch (Failure e) {
      throw e.in(new Failure.Step(index, op.name()));
    }
  }

  private StepsJob job(DeviceRuntime place, RequestContext terms) {
    terms.deadline().check();
    return new StepsJob(place, pipelines.get(place.number()), store.of(terms.tenant()), terms);
  }

  private Map<String, Value> step(
      StepsJob job, Op op, Map<String, Value> inputs, Attributes attributes) {
    var description = op.description();
    var types = new HashMap<String, TensorType>();
    inputs.forEach((name, value) -> types.put(name, value.type()));
    Catalogue.checkInputs(description, types);
    var place = job.place();
    long began = System.nanoTime();
    var plan = place.plan(op, types, attributes, problem -> onPlan.accept(place, problem));
    job.prepared(System.nanoTime() - began);
    var first = types.get(description.inputs().getFirst().name());
    var dtype = first == null ? "none" : first.dtype().text();
    return job.step(op, plan, dtype, inputs);
  }

  private static void output(StepsJob job, String name, Value value, Target target) {
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
              .formatted(
                  op.name(),
                  name,
                  String.join(", ", op.outputs().stream().map(o -> o.name()).toList())));
    }
  }

  private static Failure notComputed(OpDescription op, String output, String field) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        field,
        "with these attributes %s does not compute output \"%s\"".formatted(op.name(), output));
  }

  /** An output's dtype is the attribute {@code outDtype} by another name, where an op has it. */
  private static Attributes attributes(Call call) {
    var op = call.op().description();
    var given = new HashMap<String, Object>(call.attributes());
    var choice = op.attribute("outDtype").filter(a -> a.type() == AttributeType.CHOICE).isPresent();
    if (choice && op.outputs().size() == 1) {
      var target = call.outputs().get(op.outputs().getFirst().name());
      if (target != null && target.dtype() != null) {
        given.putIfAbsent("outDtype", target.dtype().text());
      }
    }
    return Attributes.of(op, given);
  }

  /** What all steps share is the op's where there is one, and else the pipeline's. */
  private static void record(
      Metrics metrics, List<StepsJob.Step> jobs, List<Result.Step> ran, Result.Timing timing) {
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
