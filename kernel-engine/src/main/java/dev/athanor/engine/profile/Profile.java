package dev.athanor.engine.profile;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import dev.athanor.engine.profile.Cost.Unit;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * The profile of one launch. All counts are of the blocks that were run.
 *
 * @param sharedBytes shared memory of a block, static and dynamic
 * @param blocksRun how many blocks of the grid were run and counted
 * @param rows the instructions, as they are written and in their order in the kernel
 * @param activeLanes how many instructions of a warp were executed with 0, 1, … 32 lanes
 * @param touchedSectors different sectors of 32 bytes of global memory that were touched
 */
public record Profile(
    String kernel,
    Dim3 grid,
    Dim3 block,
    int sharedBytes,
    long blocksRun,
    List<Row> rows,
    List<Long> activeLanes,
    long touchedSectors) {

  public Profile {
    rows = List.copyOf(rows);
    activeLanes = List.copyOf(activeLanes);
  }

  /**
   * The counts of one instruction.
   *
   * @param executed by how many warps, each time anew; those with no active lane count
   * @param active lanes for which its guard held, over all of these
   * @param split how many times its guard held for some lanes of a warp and not for others
   * @param localBytes of local memory that lanes touched
   */
  public record Row(
      Instruction instruction,
      long executed,
      long active,
      long split,
      Shared shared,
      Global global,
      long localBytes) {

    Cost cost() {
      return Cost.of(instruction);
    }

    /** Floating-point operations of active lanes. */
    long flops() {
      var cost = cost();
      return cost.flops() * (cost.unit() == Unit.TENSOR ? executed : active);
    }

    /** Instructions that a scheduler issues. */
    long issues() {
      return cost().unit() == Unit.NONE ? 0 : executed;
    }
  }

  /**
   * The accesses of an instruction to shared memory.
   *
   * @param bytes that lanes read or wrote
   * @param wavefronts that its requests take
   * @param ideal wavefronts without bank conflicts
   * @param least wavefronts in whatever order lanes are served
   * @param ways the most wavefronts of a phase: 2 is a 2-way conflict, 1 none
   */
  public record Shared(
      long requests, long bytes, long wavefronts, long ideal, long least, int ways) {

    /** Wavefronts that bank conflicts cost. */
    public long conflicts() {
      return wavefronts - ideal;
    }
  }

  /**
   * The accesses of an instruction to global memory.
   *
   * @param bytes that lanes read or wrote
   * @param unique bytes, those that several lanes of a request touched counted once
   * @param sectors of 32 bytes
   * @param ideal sectors that would hold the unique bytes of each request
   * @param lines of 128 bytes
   */
  public record Global(
      long requests, long bytes, long unique, long sectors, long ideal, long lines) {

    /** Bytes that were transferred but not requested. */
    public long wasted() {
      return sectors * Sectors.SECTOR - unique;
    }

    /** Sectors of a request on average; 0 where there was none. */
    public double sectorsPerRequest() {
      return requests == 0 ? 0 : (double) sectors / requests;
    }
  }

  static Profile of(Observed launch, Counters seen) {
    var rows = new ArrayList<Row>();
    for (int i = 0; i < launch.instructions().size(); i++) {
      if (launch.added().contains(i)) {
        continue;
      }
      rows.add(
          new Row(
              launch.instructions().get(i).original(),
              seen.executed[i],
              seen.active[i],
              seen.split[i],
              new Shared(
                  seen.shared.count[i],
                  seen.shared.bytes[i],
                  seen.shared.actual[i],
                  seen.shared.ideal[i],
                  seen.sharedLeast[i],
                  seen.sharedWays[i]),
              new Global(
                  seen.global.count[i],
                  seen.global.bytes[i],
                  seen.globalUnique[i],
                  seen.global.actual[i],
                  seen.global.ideal[i],
                  seen.globalLines[i]),
              seen.localBytes[i]));
    }
    return new Profile(
        launch.kernel().name(),
        launch.grid(),
        launch.block(),
        launch.sharedBytes(),
        seen.blocks,
        rows,
        Arrays.stream(seen.width).boxed().toList(),
        seen.footprint.size());
  }

  /** The sum of something over all instructions. */
  public long sum(ToLongFunction<Row> of) {
    return rows.stream().mapToLong(of).sum();
  }

  /** Instructions of warps that were executed. */
  public long executed() {
    return sum(Row::executed);
  }

  /** How often each kind of instruction was executed, by mnemonic, the most frequent first. */
  public Map<String, Long> mix() {
    var counts = new TreeMap<String, Long>();
    for (var row : rows) {
      if (row.executed > 0) {
        counts.merge(row.instruction.form().mnemonic(), row.executed, Long::sum);
      }
    }
    var sorted = new LinkedHashMap<String, Long>();
    counts.entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
        .forEach(e -> sorted.put(e.getKey(), e.getValue()));
    return sorted;
  }

  /**
   * Floating-point operations by what executes them: {@code f32}, {@code special}, {@code tensor
   * f16} and so on.
   */
  public Map<String, Long> flops() {
    var flops = new TreeMap<String, Long>();
    for (var row : rows) {
      if (row.flops() > 0) {
        var cost = row.cost();
        var tensor = cost.tensor();
        var name = cost.unit() + (tensor == null ? "" : " " + tensor);
        flops.merge(name.toLowerCase(Locale.ROOT).replace('_', ' '), row.flops(), Long::sum);
      }
    }
    return flops;
  }

  /** The bytes that lanes read and wrote in a state space; an atomic does both. */
  public record Traffic(long read, long written) {}

  /** The bytes of each state space that was touched. */
  public Map<Space, Traffic> traffic() {
    var traffic = new EnumMap<Space, Traffic>(Space.class);
    for (var row : rows) {
      add(traffic, Space.GLOBAL, row, row.global.bytes, false);
      add(traffic, Space.SHARED, row, row.shared.bytes, true);
      add(traffic, Space.LOCAL, row, row.localBytes, true);
    }
    return traffic;
  }

  private static void add(
      Map<Space, Traffic> to, Space space, Row row, long bytes, boolean target) {
    if (bytes > 0) {
      var own =
          switch (row.instruction.form().semantics()) {
            case Semantics.Store _ -> new Traffic(0, bytes);
            case Semantics.Atomic _ -> new Traffic(bytes, bytes);
            case Semantics.AsyncCopy _ when target -> new Traffic(0, bytes);
            case Semantics.Computation _,
                Semantics.Load _,
                Semantics.LoadMatrix _,
                Semantics.StoreMatrix _,
                Semantics.LoadTile _,
                Semantics.StoreTile _,
                Semantics.Asynchronous _,
                Semantics.Completion _,
                Semantics.Synchronization _,
                Semantics.TensorMapUpdate _,
                Semantics.Control _,
                Semantics.NoEffect _ ->
                new Traffic(bytes, 0);
          };
      to.merge(space, own, (a, b) -> new Traffic(a.read() + b.read(), a.written() + b.written()));
    }
  }

  /** Branches with a guard that warps executed. */
  public long branches() {
    return sum(row -> isConditionalBranch(row) ? row.executed : 0);
  }

  /** Those of {@link #branches} at which the lanes of a warp diverged. */
  public long divergentBranches() {
    return sum(row -> isConditionalBranch(row) ? row.split : 0);
  }

  private static boolean isConditionalBranch(Row row) {
    return row.instruction.form().semantics() instanceof Semantics.Branch
        && row.instruction.guard() != null;
  }

  /** Barriers of the block that warps executed. */
  public long barriers() {
    return sum(
        row -> row.instruction.form().semantics() instanceof Semantics.Barrier ? row.executed : 0);
  }

  /** The rows that each line of the source made, by {@code file:line}, in the order of the code. */
  public Map<String, List<Row>> lines() {
    return rows.stream()
        .filter(row -> row.executed > 0)
        .collect(
            Collectors.groupingBy(
                row -> line(row.instruction.source()), LinkedHashMap::new, Collectors.toList()));
  }

  /** The source line from {@code .loc}, or else the line of PTX; without the column. */
  private static String line(Source source) {
    var origin = source.origin();
    var place = origin == null ? source : origin;
    return place.line() == 0 ? place.file() : place.file() + ":" + place.line();
  }
}
