package dev.athanor.engine.profile;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import dev.athanor.engine.profile.Cost.Unit;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
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
 * The profile of a launch. All counts cover only the blocks that were run.
 *
 * @param sharedBytes shared memory per block, static and dynamic
 * @param blocksRun number of blocks of the grid that were run and counted
 * @param rows the kernel's instructions as written, in order
 * @param activeLanes number of executed warp instructions with 0, 1, … 32 active lanes
 * @param touchedSectors number of distinct 32-byte sectors of global memory that were accessed
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
   * The counts of an instruction.
   *
   * @param executed number of executions by a warp, including those without active lanes
   * @param active total number of active lanes
   * @param divergent number of executions whose guard was true for only some lanes of the warp
   * @param localBytes bytes of local memory that lanes accessed
   */
  public record Row(
      Instruction instruction,
      long executed,
      long active,
      long divergent,
      Shared shared,
      Global global,
      long localBytes) {

    Cost cost() {
      return Cost.of(instruction);
    }

    /** Returns the floating-point operations of active lanes. */
    long flops() {
      var cost = cost();
      return cost.flops() * (cost.unit() == Unit.TENSOR ? executed : active);
    }

    /** Returns the number of issued instructions. */
    long issues() {
      return cost().unit() == Unit.NONE ? 0 : executed;
    }
  }

  /**
   * The accesses of an instruction to shared memory.
   *
   * @param bytes bytes that lanes read or wrote
   * @param wavefronts wavefronts of its requests
   * @param ideal wavefronts without bank conflicts
   * @param minimum minimum wavefronts over all orders of lanes
   * @param ways maximum wavefronts of a phase: 2 is a 2-way conflict, 1 is none
   */
  public record Shared(
      long requests, long bytes, long wavefronts, long ideal, long minimum, int ways) {

    /** Returns the wavefronts caused by bank conflicts. */
    public long conflicts() {
      return wavefronts - ideal;
    }
  }

  /**
   * The accesses of an instruction to global memory.
   *
   * @param bytes bytes that lanes read or wrote
   * @param uniqueBytes bytes that lanes read or wrote, counting each byte once per request
   * @param sectors number of 32-byte sectors
   * @param ideal minimum number of sectors for the unique bytes of each request
   * @param lines number of 128-byte lines
   */
  public record Global(
      long requests, long bytes, long uniqueBytes, long sectors, long ideal, long lines) {

    /** Returns the bytes that were transferred but not requested. */
    public long wastedBytes() {
      return sectors * Sectors.SECTOR - uniqueBytes;
    }

    /** Returns the average number of sectors per request; 0 without requests. */
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
                  seen.sharedMinimum[i],
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

  /** Returns the warps of a block. */
  public int warpsPerBlock() {
    return Math.toIntExact(Math.ceilDiv(block.count(), Warps.SIZE));
  }

  /** Returns how many blocks the grid has for each one that was run; 0 if none was. */
  public double scale() {
    return blocksRun == 0 ? 0 : (double) grid.count() / blocksRun;
  }

  /**
   * Returns the bytes of all sectors that the whole grid accesses in global memory, as often as it
   * accesses them, if all blocks are like those that were run.
   */
  public double accessedBytes() {
    return scale() * Sectors.SECTOR * sum(row -> row.global().sectors());
  }

  /** Returns the sum of a count over all instructions. */
  public long sum(ToLongFunction<Row> of) {
    return rows.stream().mapToLong(of).sum();
  }

  /** Returns the number of executed warp instructions. */
  public long executed() {
    return sum(Row::executed);
  }

  /** Returns the number of executions by mnemonic, the most frequent first. */
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
   * Returns the floating-point operations by execution unit: {@code f32}, {@code special}, {@code
   * tensor f16} and so on.
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

  /** The bytes that lanes read and wrote in a state space. An atomic does both. */
  public record Traffic(long read, long written) {}

  /** Returns the traffic by state space, for spaces that were accessed. */
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

  /** Returns the number of executed conditional branches. */
  public long branches() {
    return sum(row -> isConditionalBranch(row) ? row.executed : 0);
  }

  /** Returns the number of {@link #branches} at which a warp diverged. */
  public long divergentBranches() {
    return sum(row -> isConditionalBranch(row) ? row.divergent : 0);
  }

  private static boolean isConditionalBranch(Row row) {
    return row.instruction.form().semantics() instanceof Semantics.Branch
        && row.instruction.guard() != null;
  }

  /** Returns the number of block barriers that warps executed. */
  public long barriers() {
    return sum(
        row -> row.instruction.form().semantics() instanceof Semantics.Barrier ? row.executed : 0);
  }

  /** Returns the executed rows of each source line, by {@code file:line}, in program order. */
  public Map<String, List<Row>> lines() {
    return rows.stream()
        .filter(row -> row.executed > 0)
        .collect(
            Collectors.groupingBy(
                row -> line(row.instruction.source()), LinkedHashMap::new, Collectors.toList()));
  }

  /** Returns the source line from {@code .loc}, or else the PTX line, without the column. */
  private static String line(Source source) {
    var origin = source.origin();
    var place = origin == null ? source : origin;
    return place.line() == 0 ? place.file() : place.file() + ":" + place.line();
  }
}
