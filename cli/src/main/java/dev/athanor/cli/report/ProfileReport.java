package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.profile.Roofline;
import dev.athanor.ops.Plan;
import dev.athanor.ops.bench.Units;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The report of {@code athanor profile}. JSON has the order of the components.
 *
 * @param kernel the kernel variant of the plan, or the kernel in Java
 * @param cost the minimum cost of the op, independent of its implementation; null for a kernel in
 *     Java
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ProfileReport(
    String kernel, String gpu, Plan.@Nullable Cost cost, List<Launch> launches) {

  /**
   * One launch.
   *
   * @param blocksRun number of blocks that ran; all counts, but not the bounds, refer to these
   * @param activeLanes number of warp instructions executed with 0, 1, … 32 active lanes
   */
  public record Launch(
      String kernel,
      String grid,
      String block,
      int sharedBytes,
      long blocks,
      long blocksRun,
      Bounds bounds,
      long executed,
      Map<String, Long> mix,
      Map<String, Long> flops,
      List<Long> activeLanes,
      Branches branches,
      long barriers,
      Map<String, Profile.Traffic> memory,
      Global global,
      Shared shared,
      List<Access> accesses) {

    public static Launch of(Profile profile, Gpu gpu, AssembledKernel kernel) {
      var roofline = kernel.bounds(profile, gpu);
      var memory = new LinkedHashMap<String, Profile.Traffic>();
      profile
          .traffic()
          .forEach((space, traffic) -> memory.put(space.name().toLowerCase(Locale.ROOT), traffic));
      return new Launch(
          profile.kernel(),
          profile.grid().toString(),
          profile.block().toString(),
          profile.sharedBytes(),
          profile.grid().count(),
          profile.blocksRun(),
          Bounds.of(roofline, kernel),
          profile.executed(),
          profile.mix(),
          profile.flops(),
          profile.activeLanes(),
          new Branches(profile.branches(), profile.divergentBranches()),
          profile.barriers(),
          memory,
          Global.of(profile.rows()),
          Shared.of(profile.rows()),
          profile.rows().stream()
              .filter(row -> row.global().requests() + row.shared().requests() > 0)
              .collect(
                  Collectors.groupingBy(
                      row -> row.instruction().opcode() + row.instruction().source(),
                      LinkedHashMap::new,
                      Collectors.toList()))
              .values()
              .stream()
              .map(Access::of)
              .toList());
    }

    /** Returns the report as text. */
    public List<String> text(String gpu) {
      return new Text(this, gpu).lines();
    }
  }

  /** Predicated branches, and those where the lanes of a warp diverged. */
  record Branches(long executed, long divergent) {}

  /**
   * Lower bounds of the time on a GPU.
   *
   * @param certain the longest bound that is not an estimate; null if there is none
   * @param limiter the longest bound, which may be an estimate
   */
  record Bounds(
      @Nullable Resource certain,
      Resource limiter,
      List<Resource> resources,
      Occupancy occupancy,
      List<Roofline.LineCost> lines) {

    static Bounds of(Roofline roofline, AssembledKernel kernel) {
      return new Bounds(
          roofline.certain().map(Resource::of).orElse(null),
          Resource.of(roofline.limiter()),
          roofline.bounds().stream().map(Resource::of).toList(),
          new Occupancy(
              kernel.registers(),
              kernel.source(),
              roofline.occupancy().blocks(),
              roofline.occupancy().warps(),
              roofline.occupancy().share(),
              text(roofline.occupancy().limit()),
              roofline.waves(),
              roofline.waveEfficiency()),
          roofline.lines());
    }
  }

  /** The minimum time that the launch keeps a resource busy. */
  record Resource(
      String name, double amount, String unit, double rate, double seconds, boolean estimate) {

    static Resource of(Roofline.Bound bound) {
      return new Resource(
          ProfileReport.text(bound.resource()),
          bound.amount(),
          bound.resource().unit(),
          bound.rate(),
          bound.seconds(),
          bound.estimate());
    }

    /** {@code 12.30 µs, for tensor}. */
    String text() {
      return "%s, for %s".formatted(Units.time(1e6 * seconds), name);
    }
  }

  /**
   * The occupancy of the GPU.
   *
   * @param blocks resident blocks per multiprocessor
   * @param share resident warps over the maximum
   * @param waves number of waves
   * @param filled occupied block slots in these waves over all slots
   */
  record Occupancy(
      int registers,
      String registersFrom,
      int blocks,
      int warps,
      double share,
      String limit,
      double waves,
      double filled) {}

  /** Requests of warps in global memory. */
  record Global(
      long requests, double sectorsPerRequest, long sectors, long idealSectors, long wastedBytes) {

    static Global of(Collection<Row> rows) {
      long requests = rows.stream().mapToLong(row -> row.global().requests()).sum();
      long sectors = rows.stream().mapToLong(row -> row.global().sectors()).sum();
      return new Global(
          requests,
          requests == 0 ? 0 : (double) sectors / requests,
          sectors,
          rows.stream().mapToLong(row -> row.global().ideal()).sum(),
          rows.stream().mapToLong(row -> row.global().wastedBytes()).sum());
    }
  }

  /**
   * Requests of warps in shared memory.
   *
   * @param conflicts wavefronts beyond the ideal number
   * @param ways the degree of the worst bank conflict; 1 = none
   */
  record Shared(long requests, long wavefronts, long idealWavefronts, long conflicts, int ways) {

    static Shared of(Collection<Row> rows) {
      return new Shared(
          rows.stream().mapToLong(row -> row.shared().requests()).sum(),
          rows.stream().mapToLong(row -> row.shared().wavefronts()).sum(),
          rows.stream().mapToLong(row -> row.shared().ideal()).sum(),
          rows.stream().mapToLong(row -> row.shared().conflicts()).sum(),
          rows.stream().mapToInt(row -> row.shared().ways()).max().orElse(0));
    }
  }

  /**
   * Memory instructions, grouped by opcode and source line. Memory that they do not access is
   * omitted.
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  record Access(
      String instruction,
      String source,
      long executed,
      @Nullable Global global,
      @Nullable Shared shared) {

    /** Groups instructions of one opcode and source line. */
    static Access of(List<Row> rows) {
      var first = rows.getFirst().instruction();
      var global = Global.of(rows);
      var shared = Shared.of(rows);
      return new Access(
          first.opcode(),
          first.source().toString(),
          rows.stream().mapToLong(Row::executed).sum(),
          global.requests == 0 ? null : global,
          shared.requests == 0 ? null : shared);
    }
  }

  private static String text(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f%%", 100 * share);
  }

  private static String number(double value) {
    boolean whole = value == Math.rint(value) && value < 1e9;
    return String.format(Locale.ROOT, whole ? "%.0f" : "%.4g", value);
  }

  /** Returns the report as text. */
  public List<String> text() {
    var lines = new ArrayList<String>();
    for (var launch : launches) {
      if (!lines.isEmpty()) {
        lines.add("");
      }
      lines.addAll(launch.text(gpu));
    }
    return lines;
  }

  /** The report of a launch as text. */
  private record Text(Launch launch, String gpu) {

    List<String> lines() {
      var lines = new ArrayList<String>();
      lines.add(
          "%s: %s blocks of %s threads, %d bytes of shared memory each"
              .formatted(launch.kernel, launch.grid, launch.block, launch.sharedBytes));
      if (launch.blocksRun < launch.blocks) {
        lines.add(
            "counted in %d of %d blocks, spread evenly; the bounds are extrapolated, except for DRAM"
                .formatted(launch.blocksRun, launch.blocks));
      }
      lines.addAll(bounds());
      lines.add("");
      lines.addAll(costliest());
      lines.add("");
      lines.addAll(instructions());
      lines.add("");
      lines.addAll(memory());
      return lines;
    }

    private List<String> bounds() {
      var lines = new ArrayList<String>();
      var certain = launch.bounds.certain;
      if (certain != null) {
        lines.add("Lower bound on %s: %s.".formatted(gpu, certain.text()));
      }
      if (launch.bounds.limiter.estimate) {
        lines.add("Estimated lower bound: %s.".formatted(launch.bounds.limiter.text()));
      }
      lines.add("Bounds ignore stalls; they do not predict the time.");
      lines.add("");
      var table = new Table("resource", "at least", "work", "unit", "rate per second", "");
      for (var resource : launch.bounds.resources) {
        table.add(
            resource.name,
            Units.time(1e6 * resource.seconds),
            number(resource.amount),
            resource.unit,
            number(resource.rate),
            resource.estimate ? "estimate" : "");
      }
      lines.addAll(table.text());
      lines.add("");
      var full = launch.bounds.occupancy;
      lines.add(
          "occupancy: %d blocks, %d warps (%s) per multiprocessor, limited by %s; %d registers per thread (%s)"
              .formatted(
                  full.blocks,
                  full.warps,
                  percent(full.share),
                  full.limit,
                  full.registers,
                  full.registersFrom));
      lines.add(
          Double.isInfinite(full.waves)
              ? "waves: a multiprocessor cannot hold one block"
              : "waves: %.0f, with %s of the block slots occupied"
                  .formatted(full.waves, percent(full.filled)));
      return lines;
    }

    private List<String> costliest() {
      var table = new Table("costliest lines", "resource", "time", "share", "executed");
      for (var line : launch.bounds.lines) {
        table.add(
            line.line(),
            ProfileReport.text(line.resource()),
            Units.time(1e6 * line.seconds()),
            percent(line.share()),
            Long.toString(line.executed()));
      }
      return table.text();
    }

    private List<String> instructions() {
      var table = new Table("instruction", "executed", "share");
      launch.mix.forEach((mnemonic, count) ->
          table.add(mnemonic, Long.toString(count), percent((double) count / launch.executed)));
      var lines = new ArrayList<>(table.text());
      lines.add("");
      lines.add(
          "executed by warps: %d, %d at barriers".formatted(launch.executed, launch.barriers));
      lines.add(
          "active lanes: "
              + IntStream.rangeClosed(0, 32)
                  .map(i -> 32 - i)
                  .filter(lanes -> launch.activeLanes.get(lanes) > 0)
                  .mapToObj(lanes ->
                      "%d in %s"
                          .formatted(
                              lanes,
                              percent((double) launch.activeLanes.get(lanes) / launch.executed)))
                  .collect(Collectors.joining(", ")));
      lines.add(
          "predicated branches: %d, divergent %d"
              .formatted(launch.branches.executed, launch.branches.divergent));
      lines.add(
          "floating-point operations: "
              + (launch.flops.isEmpty()
                  ? "none"
                  : launch.flops.entrySet().stream()
                      .map(e -> e.getKey() + " " + e.getValue())
                      .collect(Collectors.joining(", "))));
      return lines;
    }

    private List<String> memory() {
      var lines = new ArrayList<String>();
      var traffic = new Table("memory", "bytes read", "bytes written");
      launch.memory.forEach((space, bytes) ->
          traffic.add(space, Long.toString(bytes.read()), Long.toString(bytes.written())));
      lines.addAll(traffic.text());
      lines.add("");
      var table =
          new Table(
              "access",
              "source",
              "executed",
              "sectors each",
              "ideal",
              "wasted bytes",
              "wavefronts each",
              "ideal",
              "conflict");
      for (var access : launch.accesses) {
        var global = access.global;
        var shared = access.shared;
        table.add(
            access.instruction,
            access.source,
            Long.toString(access.executed),
            global == null ? "" : number(global.sectorsPerRequest),
            global == null ? "" : number((double) global.idealSectors / global.requests),
            global == null ? "" : Long.toString(global.wastedBytes),
            shared == null ? "" : number((double) shared.wavefronts / shared.requests),
            shared == null ? "" : number((double) shared.idealWavefronts / shared.requests),
            shared == null ? "" : shared.conflicts == 0 ? "none" : shared.ways + "-way");
      }
      lines.addAll(table.text());
      return lines;
    }
  }
}
