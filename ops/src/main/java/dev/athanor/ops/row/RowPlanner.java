package dev.athanor.ops.row;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Chooses the number of threads per row by a cost model and plans the launches.
 *
 * @param rows number of rows
 * @param groups number of groups of a row; one thread computes a group
 * @param access number of elements per access
 * @param values registers of 32 bits that hold what a thread keeps per group
 */
public record RowPlanner(long rows, long groups, int access, int values) {

  /** Threads per team: a part of a warp, a warp, a small block and a large one. */
  private static final List<Integer> TEAMS = List.of(8, 32, 128, 512);

  /** Maximum number of values that a thread holds, so that 128 registers suffice. */
  private static final int MOST_VALUES = 64;

  /**
   * Values per thread and step for rows that are too long to hold, and the maximum per thread for
   * parts of rows.
   */
  private static final int VALUES_OF_STEP = 16;

  /** Threads of a block that computes a part of a row. */
  private static final int TEAM_OF_PART = 128;

  /** Instructions per value: convert, exponentiate or scale, and sum. */
  private static final double VALUE_INSTRUCTIONS = 8;

  /** Cycles per step of a reduction: a shuffle and an addition. */
  private static final double SHUFFLE_CYCLES = 30;

  /** Registers of a thread besides the values that it holds. */
  private static final int OTHER_REGISTERS = 32;

  /**
   * The launches of a plan.
   *
   * @param steps at least one of them launches a {@link RowKernel}
   * @param workspaceBytes memory for intermediate results
   */
  public record Launches(List<Step> steps, long workspaceBytes) {

    /**
     * Returns one launch with a team for each row, without workspace.
     *
     * @param arguments those of the {@link RowFunction}
     */
    public static Launches of(RowKernel kernel, RowShape shape, Arguments arguments) {
      return new Launches(List.of(step(kernel, shape, arguments)), 0);
    }
  }

  /** Returns a planner for functions that keep one number per element of a row. */
  public static RowPlanner of(RowShape shape) {
    return of(shape, shape.registers());
  }

  /**
   * Returns a planner.
   *
   * @param registers registers of 32 bits that hold what a thread keeps per element of a row
   */
  public static RowPlanner of(RowShape shape, int registers) {
    return of(shape, registers, shape.access(shape.n()));
  }

  /** Returns a planner for functions that keep one number per element of a row. */
  public static RowPlanner ofAccess(RowShape shape, int access) {
    return of(shape, shape.registers(), access);
  }

  private static RowPlanner of(RowShape shape, int registers, int access) {
    return new RowPlanner(shape.rows(), shape.n() / access, access, access * registers);
  }

  /**
   * Two launches, in both of which several blocks share each row. The first reduces each part of a
   * row, the second reduces the results of the parts and writes the output.
   *
   * @param tile a whole tile that holds a part of a row
   * @param parts number of parts of each row
   */
  public record Split(RowTile tile, int parts) {

    /** Returns a launch with a block for each part of each row. */
    public Step step(RowKernel kernel, RowShape shape, Arguments arguments) {
      return RowPlanner.step(kernel, shape, Dim3.of(parts, shape.rows()), arguments);
    }
  }

  /**
   * Returns the plans, the cheapest first.
   *
   * @param op the op and its dtype, for error messages
   * @param launches makes the launches of a tile
   * @throws OpException.UnsupportedOnDevice if the device cannot run any of them
   */
  public List<LaunchPlan> plans(
      String op,
      Capability capability,
      Function<RowTile, Launches> launches,
      Map<String, TensorType> outputs,
      Plan.Cost cost) {
    return candidates(op, capability, launches, cost).plans(outputs, cost);
  }

  /**
   * Returns the plans, the cheapest first, for an op that can split rows.
   *
   * @param split makes the launches of a split; the second names the plan
   */
  public List<LaunchPlan> plans(
      String op,
      Capability capability,
      Function<RowTile, Launches> launches,
      Function<Split, Launches> split,
      Map<String, TensorType> outputs,
      Plan.Cost cost) {
    var candidates = candidates(op, capability, launches, cost);
    var machine = Machine.of(capability);
    split(machine, cost)
        .ifPresent(chosen -> {
          var made = split.apply(chosen);
          var name = made.steps.getLast().variant().name();
          candidates.offer(
              name,
              microseconds(chosen, machine, cost),
              "rows split into %d parts, two launches".formatted(chosen.parts),
              made.steps,
              made.workspaceBytes);
        });
    return candidates.plans(outputs, cost);
  }

  private Candidates candidates(
      String op, Capability capability, Function<RowTile, Launches> launches, Plan.Cost cost) {
    var candidates = new Candidates(op, capability);
    var machine = Machine.of(capability);
    for (var tile : tiles()) {
      var made = launches.apply(tile);
      var name =
          made.steps.stream()
              .map(Step::variant)
              .filter(RowKernel.class::isInstance)
              .findFirst()
              .orElseThrow()
              .name();
      var work = work(tile, cost.bytes() / rows, machine);
      long blocks = Math.ceilDiv(rows, tile.rows());
      candidates.offer(
          name,
          microseconds(tile, cost.bytes() / rows, machine),
          "%d blocks, %d per multiprocessor".formatted(blocks, machine.resident(work)),
          made.steps,
          made.workspaceBytes);
    }
    return candidates;
  }

  /**
   * Returns the cheapest tile, for a launch that prepares the input of another one.
   *
   * @param bytes bytes of a row that are read and written
   */
  public RowTile cheapestTile(Capability device, double bytes) {
    var machine = Machine.of(device);
    return tiles().stream()
        .min(Comparator.comparingDouble(tile -> microseconds(tile, bytes, machine)))
        .orElseThrow();
  }

  private double microseconds(RowTile tile, double bytes, Machine machine) {
    long blocks = Math.ceilDiv(rows, tile.rows());
    return machine.microseconds(blocks, work(tile, bytes, machine), rows * bytes);
  }

  /**
   * Returns the cheapest split. Returns empty if a team can hold a row, or if one block per row
   * keeps more than half of the multiprocessors busy.
   */
  private Optional<Split> split(Machine machine, Plan.Cost cost) {
    if (tiles().getFirst().whole() || 2 * rows > machine.multiprocessors()) {
      return Optional.empty();
    }
    return IntStream.iterate(1, n -> n * values <= VALUES_OF_STEP, n -> 2 * n)
        .mapToObj(vectors -> {
          var tile = new RowTile(TEAM_OF_PART, access, vectors, true);
          return new Split(tile, (int) Math.ceilDiv(groups, (long) tile.team() * vectors));
        })
        .min(Comparator.comparingDouble(split -> microseconds(split, machine, cost)));
  }

  /**
   * Returns a tile for each team that can hold a row, up to the first with a thread for each group,
   * and one that processes a row of any length in steps.
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

  /**
   * Returns the work of a block with a team for each row, or each part of a row.
   *
   * @param bytes bytes of a row that are read and written
   */
  private BlockWork work(RowTile tile, double bytes, Machine machine) {
    double held = (double) tile.vectors() * values;
    // a row that is processed in steps is read again
    long steps = tile.whole() ? 1 : Math.ceilDiv(groups, (long) tile.team() * tile.vectors());
    double through = tile.whole() ? held : 2 * held * steps;
    int lanes = Math.min(tile.team(), KernelBuilder.WARP);
    double shuffles = 2.0 * Integer.numberOfTrailingZeros(lanes);
    double warps = tile.threads() / (double) KernelBuilder.WARP;
    double moved = bytes * tile.rows() * (tile.whole() ? 1 : 1.5);
    return new BlockWork(
        tile.threads(),
        OTHER_REGISTERS + (int) held,
        0,
        machine.issueCycles(warps * (VALUE_INSTRUCTIONS * through + 2 * shuffles)),
        // a team of several warps needs barriers and a second reduction over its warps
        SHUFFLE_CYCLES * (tile.team() > lanes ? 2 * shuffles : shuffles)
            + (tile.team() > lanes ? 4 * Machine.BARRIER_CYCLES : 0),
        moved,
        // half of the bytes are read, and a step waits for its loads before it computes
        tile.whole() ? moved / 2 : bytes * tile.rows() / 2 / steps / 2);
  }

  /** Estimates the time of both launches of a split. */
  private double microseconds(Split split, Machine machine, Plan.Cost cost) {
    double bytes = cost.bytes() / rows / split.parts;
    long blocks = rows * split.parts;
    // the first launch only reads, and the second reads the same from the L2 cache
    return machine.microseconds(blocks, work(split.tile, bytes / 2, machine), cost.bytes() / 2)
        + machine.microseconds(blocks, work(split.tile, bytes, machine), cost.bytes() / 2);
  }

  /**
   * Returns a launch with a team for each row.
   *
   * @param arguments those of the {@link RowFunction}
   */
  public static Step step(RowKernel kernel, RowShape shape, Arguments arguments) {
    return step(kernel, shape, blocks(kernel.tile(), shape), arguments);
  }

  /** Returns the number of blocks that have a team for each row. */
  static int blocks(RowTile tile, RowShape shape) {
    return Math.ceilDiv(shape.rows(), tile.rows());
  }

  /** Returns a launch with a given number of blocks. */
  public static Step step(RowKernel kernel, RowShape shape, int blocks, Arguments arguments) {
    return step(kernel, shape, Dim3.of(blocks), arguments);
  }

  private static Step step(RowKernel kernel, RowShape shape, Dim3 grid, Arguments arguments) {
    var all = arguments.with("rows", shape.rows()).with("n", shape.n());
    return new Step(kernel, grid, kernel.tile().threads(), 0, all);
  }
}
