package dev.athanor.service.run;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription.AttributeType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.tensor.TensorStore;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The one way to run an op: resolves its inputs, plans, takes what it needs, waits its turn, runs,
 * and gives back all that is not kept, whatever happens.
 */
public final class OpRunner {

  /** Host memory that the inline outputs of one call may take. */
  static final long MOST_INLINE = Integer.MAX_VALUE - 16;

  private record PlanKey(String op, Map<String, TensorType> inputs, Attributes attributes) {}

  private final Planner planner;
  private final Consumer<Problem> onPlan;
  private final KernelCache kernels;
  private final DeviceMemory memory;
  private final TensorStore store;
  private final StreamPool streams;
  private final Metrics metrics;
  private final Map<PlanKey, Plan> plans;

  /**
   * A runner on a device.
   *
   * @param onPlan is told of every problem that is planned anew
   * @param mostPlans how many plans are kept
   */
  public OpRunner(
      Planner planner,
      Consumer<Problem> onPlan,
      KernelCache kernels,
      DeviceMemory memory,
      TensorStore store,
      StreamPool streams,
      Metrics metrics,
      int mostPlans) {
    this.planner = planner;
    this.onPlan = onPlan;
    this.kernels = kernels;
    this.memory = memory;
    this.store = store;
    this.streams = streams;
    this.metrics = metrics;
    plans =
        Collections.synchronizedMap(
            new LinkedHashMap<>(16, 0.75f, true) {
              @Override
              protected boolean removeEldestEntry(Map.Entry<PlanKey, Plan> eldest) {
                return size() > mostPlans;
              }
            });
  }

  /** Has all problems planned anew, since there is a winner that was not known. */
  public void forgetPlans() {
    plans.clear();
  }

  /**
   * Runs an op and waits for it.
   *
   * @throws Failure when the request is wrong, cannot be served now, or fails
   */
  public Result run(Call call) {
    long asked = System.nanoTime();
    call.terms().deadline().check();
    var op = call.op().description();
    try {
      var job = prepare(call);
      var ran = streams.run(job, call.terms());
      var timing =
          new Result.Timing(
              (ran.started() - asked) / 1e3,
              ran.uploadMicros(),
              ran.kernelMicros(),
              ran.downloadMicros(),
              (System.nanoTime() - asked) / 1e3);
      record(call.op(), job.plan(), job.dtype(), timing);
      return new Result(job.plan().kernel(), job.outputs(), timing);
    } catch (OpException e) {
      throw OpFailures.explain(op, e);
    }
  }

  /** All that can be refused is refused here, before the device has any work of it. */
  private OpJob prepare(Call call) {
    var op = call.op().description();
    var job = new OpJob(memory, kernels, store.of(call.terms().tenant()), call.terms().deadline());
    try {
      var types = new HashMap<String, TensorType>();
      call.inputs().forEach((name, input) -> types.put(name, job.input(name, input)));
      Catalogue.checkInputs(op, types);
      for (var name : call.outputs().keySet()) {
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
      var attributes = attributes(call);
      var plan =
          plans.computeIfAbsent(
              new PlanKey(op.name(), Map.copyOf(types), attributes),
              _ -> {
                var problem = new Problem(call.op(), types, attributes);
                var chosen = planner.plan(problem);
                onPlan.accept(problem);
                return chosen;
              });
      job.plan(plan, types.get(op.inputs().getFirst().name()));
      for (var output : op.outputs()) {
        var type = plan.outputs().get(output.name());
        if (type != null) {
          var target = call.outputs().getOrDefault(output.name(), call.others());
          checkDType(op.name(), output.name(), target, type);
          job.output(output.name(), type, target.destination());
        } else if (call.outputs().containsKey(output.name())) {
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              "outputs." + output.name(),
              "with these attributes %s does not compute output \"%s\""
                  .formatted(op.name(), output.name()));
        }
      }
      // here, so that no stream waits for a compiler
      plan.load(kernels);
      job.lock();
      return job;
    } catch (RuntimeException e) {
      job.close();
      throw e;
    }
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

  private static void checkDType(String op, String output, Target target, TensorType type) {
    if (target.dtype() != null && target.dtype() != type.dtype()) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_DTYPE,
          "outputs." + output + ".dtype",
          "output \"%s\" of this %s is %s, got %s"
              .formatted(output, op, type.dtype().text(), target.dtype().text()));
    }
  }

  private void record(Op op, Plan plan, String dtype, Result.Timing timing) {
    var name = op.description().name();
    metrics.time(name, dtype, Phase.QUEUE, timing.queue());
    metrics.time(name, dtype, Phase.UPLOAD, timing.upload());
    metrics.time(name, dtype, Phase.KERNEL, timing.kernel());
    metrics.time(name, dtype, Phase.DOWNLOAD, timing.download());
    metrics.time(name, dtype, Phase.TOTAL, timing.total());
    metrics.work(name, plan.cost().flops(), plan.cost().bytes());
  }
}
