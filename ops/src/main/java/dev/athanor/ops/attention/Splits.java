package dev.athanor.ops.attention;

import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.Machine;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * The division of the keys of a problem among blocks, whose partial results {@link CombineVariant}
 * combines.
 *
 * @param count of splits; 1 if keys are not divided
 */
public record Splits(FlashTask task, int count) {

  /** The minimum number of tiles of keys per split. */
  private static final int MIN_TILES = 2;

  private static final int MAX_SPLITS = 128;

  private static final Slot PARTIAL = new Slot.Workspace(0);

  /** Returns keys that are not divided. */
  public static Splits none(FlashTask task) {
    return new Splits(task, 1);
  }

  /**
   * Returns the maximum number of splits.
   *
   * @param keys of a tile
   */
  public static int most(FlashTask task, int keys) {
    return Math.min(MAX_SPLITS, Math.ceilDiv(task.keys(), MIN_TILES * keys));
  }

  /** Returns the cheapest splits of those that divide the keys. */
  public static Optional<Splits> cheapest(
      FlashTask task, IntStream counts, ToDoubleFunction<Splits> microseconds) {
    return counts
        .filter(count -> count > 1)
        .mapToObj(count -> new Splits(task, count))
        .min(Comparator.comparingDouble(microseconds));
  }

  /** Returns whether keys are divided. */
  public boolean several() {
    return count > 1;
  }

  /**
   * Returns the order of summation of a plan.
   *
   * @param within each split
   */
  public String order(String within) {
    return several() ? "%s_splits%d".formatted(within, count) : within;
  }

  /** Returns a part of the description of a plan. */
  public String how() {
    return several() ? ", and %d splits to combine".formatted(count) : "";
  }

  /** Returns the bytes of an element that attention writes: partial results are f32. */
  public int elementBytes() {
    return several() ? Float.BYTES : task.dtype().bytes();
  }

  /** Returns the bytes of the partial results, a multiple of the size of a score and its sum. */
  private long partialBytes() {
    return several() ? Math.ceilDiv(task.allRows() * task.dv() * count, 2) * 2 * Float.BYTES : 0;
  }

  private long sumBytes() {
    return several() ? task.allRows() * count * 2 * Float.BYTES : 0;
  }

  /** Returns the bytes of partial results and their sums. */
  public long workspaceBytes() {
    return partialBytes() + sumBytes();
  }

  /** Returns the estimated time of combining the splits. */
  public double combining(Machine machine) {
    return several()
        ? machine.dependentSum(
            (double) workspaceBytes(),
            task.allRows() * (double) task.dv() * task.dtype().bytes(),
            CombineVariant.rounds(task.dv(), count))
        : 0;
  }

  /** Returns the address to which attention writes its results. */
  public Slot out() {
    return several() ? PARTIAL : Slot.output("out");
  }

  /** Returns the arguments {@code [lse], [splits]} of attention. */
  public Arguments arguments() {
    return several()
        ? Arguments.NONE.with("lse", new Slot.Workspace(partialBytes())).with("splits", count)
        : logSumExp();
  }

  private Arguments logSumExp() {
    return task.logSumExp() ? Arguments.NONE.outputs("lse") : Arguments.NONE;
  }

  /** Returns the launch of attention, and one that combines the splits if there are several. */
  public List<Step> steps(Step attention) {
    if (!several()) {
      return List.of(attention);
    }
    int queries = (int) task.allRows();
    var combining =
        new Step(
                new CombineVariant(task.dtype(), task.logSumExp()),
                Dim3.of(queries),
                CombineVariant.THREADS,
                0,
                logSumExp()
                    .outputs("out")
                    .with("partial", PARTIAL)
                    .with("partialSums", new Slot.Workspace(partialBytes()))
                    .with("queries", queries)
                    .with("dv", task.dv())
                    .with("splits", count)
                    .with("factor", task.score().log2Factor(task.scale())))
            .asDependent();
    return List.of(attention, combining);
  }
}
