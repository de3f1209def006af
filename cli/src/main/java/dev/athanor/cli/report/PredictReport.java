package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.profile.Roofline;
import dev.athanor.engine.ptx.Module;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.profile.OpProfile;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Bounds for the times of ops on a GPU that is not here: predictions, none of them measured.
 *
 * @param blocks of each launch that the emulator ran; the others count like these
 */
public record PredictReport(Build athanor, String gpu, long blocks, List<Row> rows) {

  /**
   * The least time that the planner's kernel could take, when nothing ever waits.
   *
   * @param micros the longest of all bounds, summed over the launches
   * @param limit what is busy so long
   * @param share of the time that moving each input and output once would take
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
        double seconds = 0;
        double longest = 0;
        var limit = "";
        for (int i = 0; i < launches.size(); i++) {
          var launch = launches.get(i);
          var kernel =
              plan.kernels().stream()
                  .filter(k -> k.name().equals(launch.kernel()))
                  .findFirst()
                  .orElseThrow();
          var registers = KernelRegisters.of(Module.of(kernel), kernel, gpu);
          // of DRAM, only what the blocks that ran touched is known
          var bound =
              Roofline.of(launch, gpu, registers.count()).bounds().stream()
                  .filter(b -> b.resource() != Roofline.Resource.DRAM)
                  .findFirst();
          double busy = bound.map(Roofline.Bound::seconds).orElse(0.0);
          seconds += busy;
          if (busy > longest) {
            longest = busy;
            limit = bound.map(b -> name(b)).orElse("");
          }
        }
        double moving = plan.cost().bytes() / gpu.ceilings().dram();
        if (moving >= seconds) {
          limit = "dram";
        }
        double micros = Math.max(moving, seconds) * 1e6;
        return new Row(
            name,
            problem.text(),
            plan.kernel(),
            Optional.of(micros),
            limit,
            Optional.of(plan.cost().flops() / micros / 1e6),
            Optional.of(plan.cost().bytes() / micros / 1e3),
            Optional.of(moving * 1e6 / micros),
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
          row.micros.map(Units::time).orElse("refused"),
          row.limit,
          row.teraflops.map(rate -> Units.flops(1e12 * rate)).orElse(""),
          row.gigabytesPerSecond.map(rate -> Units.bytes(1e9 * rate)).orElse(""),
          row.share.map(share -> "%.0f%%".formatted(100 * share)).orElse(""));
    }
    return table;
  }

  /** The report for people, to be kept. */
  public List<String> markdown() {
    var lines = new ArrayList<String>();
    lines.add("# Predicted: athanor %s on %s".formatted(athanor.version(), gpu));
    lines.add("");
    lines.add(
        "No GPU was at hand. The emulator ran %d blocks of each launch of the planner's first choice and counted what they keep busy;"
            .formatted(blocks));
    lines.add(
        "the rest counts like these. Each line is the least time that the kernel could take if nothing ever waited, never the time that it will");
    lines.add("take: latencies, launches and whatever does not overlap come on top.");
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
}
