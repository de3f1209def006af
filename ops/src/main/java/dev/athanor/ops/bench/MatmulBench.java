package dev.athanor.ops.bench;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Times matrix products, and samples their results so that no wrong kernel is called fast. */
public final class MatmulBench implements AutoCloseable {

  private final Device device;
  private final Op matmul;
  private final Effort effort;
  private final Optional<Baseline> baseline;
  private final Stream stream;
  private final Stopwatch stopwatch;
  private final KernelCache kernels;

  /**
   * A bench on a device.
   *
   * @param matmul the op of that name
   * @param baseline timed turn by turn with ours, on the same buffers and stream; closed with this
   */
  public MatmulBench(Device device, Op matmul, Effort effort, Optional<Baseline> baseline) {
    this.device = device;
    this.matmul = matmul;
    this.effort = effort;
    this.baseline = baseline;
    stream = device.openStream();
    stopwatch = new Stopwatch(device, stream);
    kernels = new KernelCache(device);
  }

  /**
   * What came of a workload on one kernel variant.
   *
   * @param kernel the name of the variant, empty when there is none
   * @param sets how many copies of the matrices the launches took in turn
   * @param cost what the product needs whoever computes it
   * @param error of sampled elements of c, by their norms
   * @param limit how great it may be
   * @param ours absent where there was nothing to time
   * @param theirs of the baseline, where there is one
   * @param failure what is wrong, in one sentence
   */
  public record Row(
      Workload workload,
      String kernel,
      int sets,
      Plan.Cost cost,
      double error,
      double limit,
      Optional<Samples> ours,
      Optional<Samples> theirs,
      Optional<String> failure) {

    private static Row failed(Workload workload, String kernel, String sentence) {
      return new Row(
          workload,
          kernel,
          0,
          new Plan.Cost(0, 0),
          Double.POSITIVE_INFINITY,
          workload.tolerance(),
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
   * Times a workload.
   *
   * @param allVariants every kernel variant that the device can run, instead of the planner's first
   * @param seed what the matrices are drawn from
   * @param each is given every row when it is done
   * @throws DeviceException.Lost when the device is lost
   */
  public void run(Workload workload, boolean allVariants, long seed, Consumer<Row> each) {
    List<? extends Plan> plans;
    try {
      plans =
          matmul.plans(
              workload.inputs(), workload.attributes(matmul.description()), device.capability());
    } catch (OpException e) {
      each.accept(Row.failed(workload, "", String.valueOf(e.getMessage())));
      return;
    }
    var chosen = allVariants ? plans : plans.subList(0, 1);
    var rows = new ArrayList<Row>();
    try (var operands = new Operands(device, stream, workload, seed)) {
      chosen.forEach(plan -> rows.add(measure(workload, plan, operands)));
    } catch (DeviceException.OutOfMemory e) {
      rows.add(Row.failed(workload, "", String.valueOf(e.getMessage())));
    }
    rows.forEach(each);
  }

  private Row measure(Workload workload, Plan plan, Operands operands) {
    try {
      var contenders = new ArrayList<Runnable>();
      contenders.add(
          inTurn(
              operands,
              set -> plan.enqueue(kernels, stream, operands.bindings(set, plan.workspaceBytes()))));
      baseline.ifPresent(other ->
          contenders.add(
              inTurn(operands, set -> other.enqueue(stream, workload, set.a(), set.b(), set.c()))));
      var names = new ArrayList<String>(List.of(plan.kernel()));
      baseline.ifPresent(other -> names.add(other.name()));

      double ourError = 0;
      for (int i = 0; i < contenders.size(); i++) {
        double error = error(operands, contenders.get(i));
        ourError = i == 0 ? error : ourError;
        if (!(error <= workload.tolerance())) {
          return wrong(workload, plan, names.get(i), error);
        }
      }
      var samples = stopwatch.time(contenders, effort);
      return new Row(
          workload,
          plan.kernel(),
          operands.sets().size(),
          plan.cost(),
          ourError,
          workload.tolerance(),
          Optional.of(samples.getFirst()),
          samples.size() > 1 ? Optional.of(samples.get(1)) : Optional.empty(),
          Optional.empty());
    } catch (DeviceException.Lost e) {
      throw e;
    } catch (DeviceException | IllegalArgumentException e) {
      return Row.failed(workload, plan.kernel(), String.valueOf(e.getMessage()));
    }
  }

  private static Runnable inTurn(Operands operands, Consumer<Operands.Set> launch) {
    var sets = operands.sets();
    return new Runnable() {
      private int next;

      @Override
      public void run() {
        launch.accept(sets.get(next));
        next = (next + 1) % sets.size();
      }
    };
  }

  /** Lets a contender compute every c once, and looks at the first and the last. */
  private double error(Operands operands, Runnable contender) {
    operands.poison();
    operands.sets().forEach(_ -> contender.run());
    stream.synchronize();
    return Math.max(
        operands.error(operands.sets().getFirst()), operands.error(operands.sets().getLast()));
  }

  private static Row wrong(Workload workload, Plan plan, String who, double error) {
    var sentence =
        "%s is wrong: sampled elements of c are off by %.3g, at most %.3g is right"
            .formatted(who, error, workload.tolerance());
    return new Row(
        workload,
        plan.kernel(),
        0,
        plan.cost(),
        error,
        workload.tolerance(),
        Optional.empty(),
        Optional.empty(),
        Optional.of(sentence));
  }

  @Override
  public void close() {
    baseline.ifPresent(Baseline::close); // before the stream that it may still know
    stopwatch.close();
    stream.close();
  }
}
