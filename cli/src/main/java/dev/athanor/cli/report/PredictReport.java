package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Roofline;
import dev.athanor.engine.ptx.Module;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.bench.Units;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.profile.OpProfile;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Predicted lower bounds of the times of ops on a GPU. Nothing is measured.
 *
 * @param blocks maximum number of blocks per launch that the emulator ran
 */
public record PredictReport(Build athanor, String gpu, long blocks, List<Row> rows) {

  /**
   * The lower bound of the planner's choice.
   *
   * @param micros the sum of each launch's longest bound
   * @param limit the longest bound of the longest launch
   * @param share the time to transfer each input and output once at the data sheet's bandwidth,
   *     over {@code micros}
   */
  public record Row(
      String op,
      String problem,
      String kernel,
      Optional<Double> micros,
      String limit,
      Optional<Double> teraflops,
      Optional<Double> gigabytesPerSecond,
      Optional<Double> share,
      Optional<String> failure) {

    public static Row of(Problem problem, Gpu gpu, long blocks) {
      var name = problem.op().description().name();
      try {
        var plan = problem.plans(OpProfile.capability(gpu)).getFirst();
        var launches = OpProfile.run(plan, problem, gpu, blocks).launches();
        double accessed = launches.stream().mapToDouble(Profile::accessedBytes).sum();
        double micros = 0;
        var longest = new LaunchBound(0, "");
        for (var launch : launches) {
          var bound = LaunchBound.of(launch, plan, dramBytes(launch, accessed, plan), gpu);
          micros += bound.micros;
          longest = bound.micros > longest.micros ? bound : longest;
        }
        double moving = 1e6 * plan.cost().bytes() / gpu.ceilings().dram().peak();
        return new Row(
            name,
            problem.text(),
            plan.kernel(),
            Optional.of(micros),
            longest.limit,
            Optional.of(plan.cost().flops() / micros / 1e6),
            Optional.of(plan.cost().bytes() / micros / 1e3),
            Optional.of(moving / micros),
            Optional.empty());
      } catch (OpException | DeviceException | IllegalArgumentException e) {
        return new Row(
            name,
            problem.text(),
            "",
            Optional.empty(),
            "",
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.of(String.valueOf(e.getMessage())));
      }
    }
  }

  /** The share of a plan's accesses below which a launch only combines results of the others. */
  private static final double COMBINES = 0.1;

  /**
   * Returns the bytes of device memory that a launch transfers. The inputs and outputs of a plan
   * are attributed to its launches in proportion to their accesses, because first-touch traffic is
   * known only for the blocks that ran. A small launch that follows a large one reads the partial
   * results from the L2 cache.
   *
   * @param accessed bytes accessed by all launches of the plan
   */
  private static double dramBytes(Profile launch, double accessed, Plan plan) {
    double own = launch.accessedBytes();
    return own < COMBINES * accessed ? 0 : own * Math.min(1, plan.cost().bytes() / accessed);
  }

  /** The lower bound of a launch. */
  private record LaunchBound(double micros, String limit) {

    static LaunchBound of(Profile launch, Plan plan, double dramBytes, Gpu gpu) {
      var kernel =
          plan.kernels().stream()
              .filter(each -> each.name().equals(launch.kernel()))
              .findFirst()
              .orElseThrow();
      var bounds =
          AssembledKernel.of(Module.of(kernel), kernel.name(), gpu)
              .bounds(launch, gpu, dramBytes)
              .bounds();
      double micros = bounds.isEmpty() ? 0 : 1e6 * bounds.getFirst().seconds();
      return micros > Machine.LAUNCH_MICROSECONDS
          ? new LaunchBound(micros, name(bounds.getFirst()))
          : new LaunchBound(Machine.LAUNCH_MICROSECONDS, "launch (assumed)");
    }

    private static String name(Roofline.Bound bound) {
      return bound.resource().name().toLowerCase(Locale.ROOT)
          + (bound.estimate() ? " (estimate)" : "");
    }
  }

  @JsonIgnore
  public Table table() {
    var table =
        new Table(
            "op", "problem", "kernel", "at least", "limit", "compute", "bandwidth", "of bandwidth");
    for (var row : rows) {
      table.add(
          row.op,
          row.problem,
          row.kernel,
          row.micros.map(Units::time).orElse("rejected"),
          row.limit,
          row.teraflops.map(rate -> Units.flops(1e12 * rate)).orElse(""),
          row.gigabytesPerSecond.map(rate -> Units.bytes(1e9 * rate)).orElse(""),
          row.share.map(share -> "%.0f%%".formatted(100 * share)).orElse(""));
    }
    return table;
  }

  /** Returns the report as Markdown. */
  public List<String> markdown() {
    var lines = new ArrayList<String>();
    lines.add("# Predicted: athanor %s on %s".formatted(athanor.version(), gpu));
    lines.add("");
    lines.addAll(model());
    lines.add("");
    lines.addAll(table().markdown());
    for (var row : rows) {
      row.failure.ifPresent(why -> {
        lines.add("");
        lines.add("%s %s: %s".formatted(row.op, row.problem, why));
      });
    }
    return lines;
  }

  /** Returns the description of the model. */
  private List<String> model() {
    var dram = Gpu.named(gpu).orElseThrow().ceilings().dram();
    return List.of(
        "These are predictions, not measurements. Each line is a lower bound of the time of the planner's choice. The real time is",
        "longer because of stalls and work that does not overlap.",
        "",
        "- The emulator ran up to %d blocks of each launch, spread evenly over the grid, and counted their work. The counts are extrapolated to the others."
            .formatted(blocks),
        "- A launch takes as long as its busiest resource, and at least %.1f µs (assumed). The times of launches add up."
            .formatted(Machine.LAUNCH_MICROSECONDS),
        "- `dram`: each input is read once and each output written once, at %.0f GB/s (%s); the last column refers to the data sheet's %.0f GB/s."
            .formatted(
                dram.sustained() / 1e9,
                dram.measured() ? "measured with a copy" : "assumed",
                dram.peak() / 1e9),
        "- `latency`: the bytes that resident warps have in flight arrive once in %.0f ns (assumed)."
            .formatted(1e9 * dram.latency()),
        "- `issue`: the instructions of the main loop are counted in machine code, if an assembler is installed.",
        "- `tensor`: the rate of the instruction that the kernel uses; `mma.sync` reaches 62 % of the peak on Hopper.",
        "- `(estimate)`: amount or rate is uncertain.");
  }
}
