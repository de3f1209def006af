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
  private final Optional<Baseline> baseline;
  private final Stream stream;
  private final Stopwatch stopwatch;
  private final KernelCache kernels;

  /**
   * A bench on a device.
   *
   * @param baseline timed turn by turn with ours, on the same buffers and stream, where it computes
   *     the same; closed with this
   */
  public OpBench(Device device, Effort effort, Optional<Baseline> baseline) {
    this.device = device;
    this.effort = effort;
    this.baseline = baseline;
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
   * @param theirs of the baseline, where it computes the same
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
      Optional<Samples> theirs,
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
          Optional.empty(),
          Optional.of(sentence));
    }

    /** How many times as long as the baseline ours takes, by the medians. */
    public Optional<Double> ratio() {
      return ours.flatMap(o -> theirs.map(t -> o.median() / t.median()));
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
    rows.forEach(each);
  }

  private Row measure(Problem problem, Plan plan, Sets sets) {
    try {
      var contenders = new ArrayList<Runnable>();
      var names = new ArrayList<String>();
      contenders.add(
          sets.inTurn(plan.workspaceBytes(), bindings -> plan.enqueue(kernels, stream, bindings)));
      names.add(plan.kernel());
      baseline
          .filter(other -> other.computes(problem))
          .ifPresent(other -> {
            contenders.add(sets.inTurn(0, bindings -> other.enqueue(stream, problem, bindings)));
            names.add(other.name());
          });

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
      return new Row(
          problem,
          plan.kernel(),
          sets.count(),
          plan.cost(),
          ours.error(),
          ours.limit(),
          Optional.of(samples.getFirst()),
          samples.size() > 1 ? Optional.of(samples.get(1)) : Optional.empty(),
          Optional.empty());
    } catch (DeviceException.Lost e) {
      throw e;
    } catch (DeviceException | OpException | IllegalArgumentException e) {
      return Row.failed(problem, plan.kernel(), String.valueOf(e.getMessage()));
    }
  }

  @Override
  public void close() {
    baseline.ifPresent(Baseline::close); // before the stream that it may still know
    stopwatch.close();
    stream.close();
  }
}
