package dev.athanor.ops.bench;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Times ops, and samples their results so that no wrong kernel is called fast. */
public final class OpBench implements AutoCloseable {

  private final Device device;
  private final Effort effort;
  private final List<Baseline> baselines;
  private final Stream stream;
  private final Stopwatch stopwatch;
  private final KernelCache kernels;

  /**
   * Creates a bench on a device.
   *
   * @param baselines timed in turn with ours where they compute the same; closed with this
   */
  public OpBench(Device device, Effort effort, List<? extends Baseline> baselines) {
    this.device = device;
    this.effort = effort;
    this.baselines = List.copyOf(baselines);
    stream = device.openStream();
    stopwatch = new Stopwatch(device, stream);
    kernels = new KernelCache(device);
  }

  /**
   * What came of a problem on one kernel variant.
   *
   * @param kernel the name of the variant, empty when there is none
   * @param sets how many copies of the tensors the launches took in turn
   * @param cost what the problem needs whoever computes it
   * @param error of sampled elements of the outputs
   * @param limit how great it may be
   * @param ours absent where there was nothing to time
   * @param theirs what came of it on the baselines that were asked
   * @param failure what is wrong, in one sentence
   */
  public record Row(
      Problem problem,
      String kernel,
      int sets,
      Plan.Cost cost,
      double error,
      double limit,
      Optional<Samples> ours,
      List<Baseline.Result> theirs,
      Optional<String> failure) {

    private static Row failed(Problem problem, String kernel, String sentence) {
      return new Row(
          problem,
          kernel,
          0,
          new Plan.Cost(0, 0),
          Double.POSITIVE_INFINITY,
          0,
          Optional.empty(),
          List.of(),
          Optional.of(sentence));
    }

    private Row with(List<Baseline.Result> more) {
      var all = new ArrayList<>(theirs);
      all.addAll(more);
      return new Row(problem, kernel, sets, cost, error, limit, ours, all, failure);
    }

    /** Returns the number of times as long as a baseline ours takes, by the medians. */
    public Optional<Double> ratio(Baseline.Result other) {
      return ours.flatMap(o -> other.samples().map(t -> o.median() / t.median()));
    }
  }

  /**
   * Times a problem.
   *
   * @param allVariants every kernel variant that the device can run, instead of the planner's first
   * @param seed what the inputs are drawn from
   * @param each is given every row when it is done
   * @throws DeviceException.Lost when the device is lost
   */
  public void run(Problem problem, boolean allVariants, long seed, Consumer<Row> each) {
    List<? extends Plan> plans;
    try {
      plans = problem.plans(device.capability());
    } catch (OpException e) {
      each.accept(Row.failed(problem, "", String.valueOf(e.getMessage())));
      return;
    }
    run(problem, allVariants ? plans : plans.subList(0, 1), seed, each);
  }

  /** Times some of a problem's plans. */
  public void run(Problem problem, List<? extends Plan> plans, long seed, Consumer<Row> each) {
    var rows = new ArrayList<Row>();
    try (var sets = new Sets(device, stream, problem, plans.getFirst().outputs(), seed)) {
      plans.forEach(plan -> rows.add(measure(problem, plan, sets)));
    } catch (DeviceException.OutOfMemory e) {
      rows.add(Row.failed(problem, "", String.valueOf(e.getMessage())));
    }
    boolean timed = rows.stream().anyMatch(row -> row.ours.isPresent());
    var others = timed ? timeOthers(problem, plans.getFirst(), seed) : List.<Baseline.Result>of();
    rows.forEach(row -> each.accept(row.ours.isPresent() ? row.with(others) : row));
  }

  /** Returns those with clocks of their own, when nothing of ours runs and our tensors are gone. */
  private List<Baseline.Result> timeOthers(Problem problem, Plan plan, long seed) {
    var results = new ArrayList<Baseline.Result>();
    for (var baseline : baselines) {
      if (baseline instanceof Baseline.Timed other) {
        other.time(problem, plan.outputs(), effort, seed).ifPresent(results::add);
      }
    }
    return results;
  }

  private Row measure(Problem problem, Plan plan, Sets sets) {
    try {
      var contenders = new ArrayList<Runnable>();
      var names = new ArrayList<String>();
      contenders.add(
          sets.inTurn(plan.workspaceBytes(), bindings -> plan.enqueue(kernels, stream, bindings)));
      names.add(plan.kernel());
      var others = new ArrayList<Baseline>();
      for (var baseline : baselines) {
        if (baseline instanceof Baseline.Enqueued other && other.computes(problem)) {
          contenders.add(sets.inTurn(0, bindings -> other.enqueue(stream, problem, bindings)));
          names.add(other.name());
          others.add(other);
        }
      }

      var ours = new Sets.Deviation("", 0, 0);
      for (int i = 0; i < contenders.size(); i++) {
        var error = sets.deviation(contenders.get(i));
        ours = i == 0 ? error : ours;
        if (!error.right()) {
          return Row.failed(
              problem,
              plan.kernel(),
              "%s is wrong: sampled elements of %s are off by %.3g, at most %.3g is right"
                  .formatted(names.get(i), error.output(), error.error(), error.limit()));
        }
      }
      var samples = stopwatch.time(contenders, effort);
      var theirs = new ArrayList<Baseline.Result>();
      for (int i = 0; i < others.size(); i++) {
        theirs.add(
            new Baseline.Result(others.get(i).library(), Optional.of(samples.get(i + 1)), ""));
      }
      return new Row(
          problem,
          plan.kernel(),
          sets.count(),
          plan.cost(),
          ours.error(),
          ours.limit(),
          Optional.of(samples.getFirst()),
          theirs,
          Optional.empty());
    } catch (DeviceException.Lost e) {
      throw e;
    } catch (DeviceException | OpException | IllegalArgumentException e) {
      return Row.failed(problem, plan.kernel(), String.valueOf(e.getMessage()));
    }
  }

  /** Returns the kernels that spill on the device, of those that were timed so far. */
  public List<KernelCache.Spill> spills() {
    return kernels.spills();
  }

  @Override
  public void close() {
    baselines.forEach(Baseline::close); // before the stream that they may still know
    stopwatch.close();
    stream.close();
  }
}
