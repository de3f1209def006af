package dev.athanor.ops.row;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Chooses how rows are spread over threads.
 *
 * @param rows how many there are
 * @param groups of a row that a thread computes together
 * @param access elements that one access moves
 * @param values f32 numbers that a thread holds of a group
 */
public record RowPlanner(long rows, long groups, int access, int values) {

  /** Threads of teams: several to a warp, a warp, a small block and a large one. */
  private static final List<Integer> TEAMS = List.of(8, 32, 128, 512);

  /** The most values that a thread holds, so that 128 registers are enough for all it does. */
  private static final int MOST_VALUES = 64;

  /** Values that a thread holds where a row is too long to be held: loads to wait for at once. */
  private static final int VALUES_OF_STEP = 16;

  /** Threads of a multiprocessor that are at work at once. */
  private static final int RESIDENT = 1024;

  /**
   * What a plan does.
   *
   * @param steps of which one has a {@link RowKernel}
   */
  public record Launches(List<Step> steps, long workspaceBytes) {}

  /** The plans, the cheapest first. */
  public List<LaunchPlan> plans(
      String op,
      Capability capability,
      Function<RowTile, Launches> launches,
      Map<String, TensorType> outputs,
      Plan.Cost cost) {
    var candidates = new Candidates(op, capability);
    for (var tile : tiles()) {
      var made = launches.apply(tile);
      var name =
          made.steps.stream()
              .map(Step::variant)
              .filter(RowKernel.class::isInstance)
              .findFirst()
              .orElseThrow()
              .name();
      if (candidates.runs(Target.SM_80, name)) {
        double waves =
            Math.max(1, rows * (double) tile.team() / (RESIDENT * capability.multiprocessors()));
        double work = work(tile);
        candidates.offer(
            name,
            waves * work,
            "%.1f waves of threads, each %.0f".formatted(waves, work),
            made.steps,
            made.workspaceBytes);
      }
    }
    return candidates.plans(outputs, cost);
  }

  /**
   * A tile for each team that can hold a row, up to the first that has a thread for each group, and
   * one that goes through a row of any length.
   */
  List<RowTile> tiles() {
    var tiles = new ArrayList<RowTile>();
    for (int team : TEAMS) {
      long vectors = powerOfTwo(Math.ceilDiv(groups, team));
      if (vectors * values <= MOST_VALUES) {
        tiles.add(new RowTile(team, access, (int) vectors, true));
      }
      if (vectors == 1) {
        break;
      }
    }
    tiles.add(new RowTile(TEAMS.getLast(), access, Math.max(1, VALUES_OF_STEP / values), false));
    return tiles;
  }

  private static long powerOfTwo(long least) {
    return Long.highestOneBit(2 * least - 1);
  }

  /** The time of a thread: values that it goes through, and the steps of two reductions. */
  private double work(RowTile tile) {
    double perStep = (double) tile.vectors() * values;
    double through =
        tile.whole()
            ? perStep
            : 2 * perStep * Math.ceilDiv(groups, (long) tile.team() * tile.vectors());
    int lanes = Math.min(tile.team(), 32);
    // a block needs barriers, and the parts of its warps are reduced once more
    return through + 2 * (Integer.numberOfTrailingZeros(lanes) + (tile.team() > lanes ? 10 : 0));
  }

  /**
   * A launch with a team for each row.
   *
   * @param slots what follows the number of rows and their length
   */
  public static Step step(RowKernel kernel, RowShape shape, List<Slot> slots) {
    return step(kernel, shape, blocks(kernel.tile(), shape), slots);
  }

  /** The blocks that have a team for each row. */
  static int blocks(RowTile tile, RowShape shape) {
    return Math.ceilDiv(shape.rows(), tile.rows());
  }

  /** A launch of so many blocks. */
  public static Step step(RowKernel kernel, RowShape shape, int blocks, List<Slot> slots) {
    var all = new ArrayList<>(List.of(Slot.of(shape.rows()), Slot.of(shape.n())));
    all.addAll(slots);
    return new Step(kernel, Dim3.of(blocks), kernel.tile().threads(), 0, all);
  }
}
