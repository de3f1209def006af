package dev.athanor.ops.tune;

import dev.athanor.engine.device.Device;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.OpBench;
import dev.athanor.ops.bench.Samples;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Times every variant that a device has for a problem. Before timing, some elements of each result
 * are compared with a float64 reference; variants with wrong results cannot win.
 */
public final class Tuner {

  private final Device device;
  private final TuningCache cache;
  private final Effort effort;
  private final InstantSource clock;

  public Tuner(Device device, TuningCache cache, Effort effort, InstantSource clock) {
    this.device = device;
    this.cache = cache;
    this.effort = effort;
    this.clock = clock;
  }

  /**
   * The result of tuning a problem.
   *
   * @param rows a row for every variant, in the order of the planner
   * @param winner absent if no variant was correct
   */
  public record Result(List<OpBench.Row> rows, Optional<TuningCache.Winner> winner) {
    public Result {
      rows = List.copyOf(rows);
    }
  }

  /**
   * Stores a variant in the cache: the planner's first choice or, if one is significantly faster,
   * the fastest.
   *
   * @param seed seed of the random inputs
   * @throws OpException if the op cannot compute the problem
   * @throws java.io.UncheckedIOException if the winner cannot be written to the file
   */
  public Result tune(Problem problem, long seed) {
    var plans = problem.plans(device.capability());
    var rows = new ArrayList<OpBench.Row>();
    Optional<OpBench.Row> best;
    try (var bench = new OpBench(device, effort, List.of())) {
      bench.run(problem, plans, seed, rows::add);
      best = best(bench, problem, plans, rows, seed);
    }
    var winner =
        best.map(row ->
            new TuningCache.Winner(
                TuningKey.of(problem, device.capability()),
                row.kernel(),
                micros(row),
                problem.text(),
                clock.instant().truncatedTo(ChronoUnit.SECONDS).toString()));
    winner.ifPresent(cache::put);
    return new Result(rows, winner);
  }

  private static Optional<OpBench.Row> best(
      OpBench bench,
      Problem problem,
      List<? extends Plan> plans,
      List<OpBench.Row> rows,
      long seed) {
    var timed = rows.stream().filter(row -> row.ours().isPresent()).toList();
    if (timed.isEmpty()) {
      return Optional.empty();
    }
    var first = timed.getFirst();
    var fastest = Collections.min(timed, Comparator.comparingDouble(Tuner::micros));
    boolean isFaster =
        !fastest.equals(first)
            && bench.isFaster(
                problem, plans.get(rows.indexOf(fastest)), plans.get(rows.indexOf(first)), seed);
    return Optional.of(isFaster ? fastest : first);
  }

  private static double micros(OpBench.Row row) {
    return row.ours().map(Samples::median).orElse(Double.POSITIVE_INFINITY);
  }
}
