package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.bench.Suites;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Checks the ledger of the cost of row invariance: for each op, the median and the largest ratio of
 * the expected time of the row-invariant plan to that of the first choice, over the large problems
 * of the suites and all GPUs. {@code -Dbless} rewrites it.
 */
@Tag(TestTier.THOROUGH_TAG)
class RowInvarianceCostTest {

  private static final Path LEDGER = Path.of("src/test/resources/row-invariance.txt");

  /** The least ratio in the ledger; row invariance of the other ops is free. */
  private static final double LEAST = 1.005;

  /** The expected time of the chosen plan in {@link Plan#explain()}. */
  private static final Pattern TIME = Pattern.compile("(?m)^\\* .*: about ([0-9.]+) us");

  /** A problem on a GPU. */
  private record Ratio(double ratio, String problem, String gpu) {}

  @Test
  void costIsUnchanged() throws IOException {
    var lines = new ArrayList<String>();
    for (var op : Catalogue.load().all()) {
      var ratios = ratios(op);
      if (!ratios.isEmpty() && ratios.getLast().ratio >= LEAST) {
        var largest = ratios.getLast();
        lines.add(
            "%-20s median %.2f, largest %.2f for %s on %s"
                .formatted(
                    op.description().name(),
                    ratios.get(ratios.size() / 2).ratio,
                    largest.ratio,
                    largest.problem,
                    largest.gpu));
      }
    }
    if (System.getProperty("bless") != null) {
      Files.write(LEDGER, lines);
    }
    assertThat(lines).isEqualTo(Files.readAllLines(LEDGER));
  }

  /** Returns the ratios in ascending order. */
  private static List<Ratio> ratios(Op op) {
    var ratios = new ArrayList<Ratio>();
    for (var problem : Suites.of(op, true)) {
      if (op.rows(problem.inputs(), problem.attributes()).isEmpty()) {
        continue;
      }
      for (var gpu : Production.GPUS) {
        var free = Production.plans(problem, gpu);
        if (!free.isEmpty()) {
          var invariant = problem.rowInvariantPlans(gpu).getFirst();
          ratios.add(
              new Ratio(
                  microseconds(invariant) / microseconds(free.getFirst()),
                  problem.text(),
                  gpu.name()));
        }
      }
    }
    ratios.sort(Comparator.comparingDouble(Ratio::ratio));
    return ratios;
  }

  private static double microseconds(Plan plan) {
    var time = TIME.matcher(plan.explain());
    assertThat(time.find()).as(plan.explain()).isTrue();
    return Double.parseDouble(time.group(1));
  }
}
