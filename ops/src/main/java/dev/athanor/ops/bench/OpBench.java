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

/**
 * Times ops and checks samples of their results, so that an incorrect kernel is not reported as
 * fast.
 */
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
   * @param baselines libraries timed for the same problems; closed with this bench
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
   * The result of a problem with one kernel variant.
   *
   * @param kernel the name of the variant; empty if there is none
   * @param sets number of copies of the tensors through which the launches rotate
   * @param cost the minimum cost of the problem
   * @param error of sampled elements of the outputs
   * @param limit the limit of the error
   * @param ours empty if nothing was timed
   * @param theirs the results of the baselines
   * @param failure the error in one sentence
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

    /** Returns the ratio of our median time to that of a baseline. */
    public Optional<Double> ratio(Baseline.Result other) {
      return ours.flatMap(o -> other.samples().map(t -> o.median() / t.median()));
    }
  }

  /**
   * Times a problem.
   *
   * @param allVariants whether to time every kernel variant that the device can run instead of the
   *     planner's first choice
   * @param seed of the random inputs
   * @param each receives each row when it is complete
   * @throws DeviceException.Lost if the device is lost
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

  /**
   * Whether a plan is significantly faster than another: timed in alternation, it wins so many
   * pairs that equally fast plans would do so in at most one of a hundred comparisons (sign test).
   */
  public boolean isFaster(Problem problem, Plan plan, Plan other, long seed) {
    int pairs = Math.max(effort.repeat(), SignTest.FEWEST_PAIRS);
    try (var sets = new Sets(device, stream, problem, plan.outputs(), seed)) {
      int wins = stopwatch.wins(launches(plan, sets), launches(other, sets), pairs, effort);
      return SignTest.isSignificant(wins, pairs);
    }
  }

  /**
   * Times the baselines with their own clocks, after our work has finished and our tensors are
   * freed.
   */
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
      contenders.add(launches(plan, sets));
      names.add(plan.kernel());
      var others = new ArrayList<Baseline>();
      for (var baseline : baselines) {
        if (baseline instanceof Baseline.Enqueued other && other.computes(problem)) {
          contenders.add(sets.inRotation(0, bindings -> other.enqueue(stream, problem, bindings)));
          names.add(other.name());
          others.add(other);
        }
      }

      var ours = new Sets.Deviation("", 0, 0);
      for (int i = 0; i < contenders.size(); i++) {
        var error = sets.deviation(contenders.get(i));
        ours = i == 0 ? error : ours;
        if (!error.isWithinLimit()) {
          return Row.failed(
              problem,
              plan.kernel(),
              "%s is wrong: the error of sampled elements of %s is %.3g; the limit is %.3g"
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

  private Runnable launches(Plan plan, Sets sets) {
    return sets.inRotation(
        plan.workspaceBytes(), bindings -> plan.enqueue(kernels, stream, bindings));
  }

  /** Returns the kernels timed so far that spill on the device. */
  public List<KernelCache.Spill> spills() {
    return kernels.spills();
  }

  @Override
  public void close() {
    baselines.forEach(Baseline::close); // before the stream that they may use
    stopwatch.close();
    stream.close();
  }
}
