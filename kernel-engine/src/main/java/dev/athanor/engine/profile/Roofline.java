package dev.athanor.engine.profile;

import dev.athanor.engine.analysis.Ceilings;
import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.Occupancy;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.profile.Cost.Unit;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.MatrixProduct;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A lower bound of a launch's time on a GPU: for each resource, the time for which the launch keeps
 * it busy. The longest of them is the bound. A kernel takes longer because of stalls and imperfect
 * overlap. The bound is derived from counts and never measured.
 *
 * <ul>
 *   <li>{@link Resource#DRAM}: each accessed sector counts once, as if caches started cold and
 *       never evicted, at the bandwidth that a copy reaches.
 *   <li>{@link Resource#LATENCY}: an estimate, see {@link BytesInFlight}.
 *   <li>{@link Resource#TENSOR}: at the rate of the instruction; {@code mma.sync} is slower than
 *       {@code wgmma}.
 *   <li>{@link Resource#ISSUE}: from machine code if there is some, see {@link IssueSlots}.
 *   <li>{@link Resource#INTEGER}: an estimate from PTX. An assembler merges and removes integer
 *       instructions; if machine code has fewer instructions than PTX, the results shrink alike.
 *   <li>{@link Resource#L2}: an estimate, because few data sheets state its bandwidth.
 * </ul>
 *
 * @param registers registers per thread, which limit the occupancy
 * @param waves number of waves of blocks; infinite if no block fits
 * @param waveEfficiency share of block slots in these waves that are used
 * @param bounds used resources, the longest time first
 * @param lines the most expensive source lines
 */
public record Roofline(
    Gpu gpu,
    int registers,
    Occupancy occupancy,
    double waves,
    double waveEfficiency,
    List<Bound> bounds,
    List<LineCost> lines) {

  private static final int WARP = Warps.SIZE;
  private static final int COSTLIEST = 5;

  /** A resource that a launch uses. */
  public enum Resource {
    /** The bandwidth of device memory. */
    DRAM("bytes"),
    SHARED("wavefronts"),
    F32("results"),
    F16("results"),
    F64("results"),
    /** Reciprocals, roots, exponentials and similar functions. */
    SPECIAL("results"),
    TENSOR("operations"),
    // estimates come last, so that certain bounds precede them on a tie
    /** The latency of device memory, which limits what so many bytes in flight can move. */
    LATENCY("bytes"),
    /** The L2 cache. */
    L2("bytes"),
    /** The warp schedulers. */
    ISSUE("instructions"),
    INTEGER("results");

    private final String unit;

    Resource(String unit) {
      this.unit = unit;
    }

    /** Returns the unit of its amounts. */
    public String unit() {
      return unit;
    }
  }

  /**
   * The time bound of a resource.
   *
   * @param amount amount of work, in the resource's unit
   * @param rate the GPU's rate per second
   * @param seconds minimum time in seconds
   * @param estimate whether amount or rate is uncertain
   */
  public record Bound(
      Resource resource, double amount, double rate, double seconds, boolean estimate) {}

  /**
   * The cost of a source line.
   *
   * @param resource resource that it keeps busy longest; never {@link Resource#DRAM} or {@link
   *     Resource#LATENCY}, whose cost would fall on the first line that accesses a sector
   * @param seconds time for which it keeps the resource busy
   * @param share share of the launch's use of that resource
   */
  public record LineCost(
      String line, Resource resource, double seconds, double share, long executed) {}

  public Roofline {
    bounds = List.copyOf(bounds);
    lines = List.copyOf(lines);
  }

  /** Returns the longest bound, which may be an estimate. */
  public Bound limiter() {
    return bounds.getFirst();
  }

  /** Returns the longest bound that is not an estimate, if any. */
  public Optional<Bound> certain() {
    return bounds.stream().filter(bound -> !bound.estimate()).findFirst();
  }

  /**
   * Returns the bounds of a launch. If only some of its blocks were run, the others count as equal,
   * except for device memory.
   *
   * @param registers registers per thread, from an assembler
   * @param code machine code of the kernel; null = without an assembler
   * @throws IllegalArgumentException if the GPU lacks a unit that the kernel needs
   */
  public static Roofline of(Profile profile, Gpu gpu, int registers, @Nullable KernelCode code) {
    double touched = (double) profile.touchedSectors() * Sectors.SECTOR;
    return of(profile, gpu, registers, code, touched);
  }

  /**
   * Returns the bounds of a launch of which only some blocks were run, and whose device memory
   * traffic is known from elsewhere.
   *
   * @param dramBytes bytes that the launch reads from device memory and writes to it
   * @throws IllegalArgumentException if the GPU lacks a unit that the kernel needs
   */
  public static Roofline of(
      Profile profile, Gpu gpu, int registers, @Nullable KernelCode code, double dramBytes) {
    var occupancy = gpu.occupancy((int) profile.block().count(), registers, profile.sharedBytes());
    long blocks = profile.grid().count();
    long slots = (long) gpu.multiprocessors() * occupancy.blocks();
    double waves = slots == 0 ? Double.POSITIVE_INFINITY : Math.ceilDiv(blocks, slots);
    double filled = slots == 0 ? 0 : blocks / (waves * slots);

    int used = (int) Math.min(blocks, gpu.multiprocessors());
    var machine = new Machine(gpu, used, profile.scale(), IssueSlots.of(profile, gpu, code));
    var busy = machine.busy(profile.rows());
    if (dramBytes > 0) {
      var dram = gpu.ceilings().dram();
      add(busy, Resource.DRAM, dramBytes, dram.sustained(), false);
      double inFlight =
          Math.min(blocks, slots) * profile.warpsPerBlock() * BytesInFlight.perWarp(profile, code);
      if (inFlight > 0) {
        add(
            busy,
            Resource.LATENCY,
            dramBytes * readShare(profile),
            inFlight / dram.latency(),
            true);
      }
    }
    var bounds = new ArrayList<>(busy.values());
    bounds.sort(Comparator.comparingDouble(Bound::seconds).reversed());
    return new Roofline(
        gpu, registers, occupancy, waves, filled, bounds, lines(profile, machine, busy));
  }

  /** Returns the share of the accessed sectors that are read. */
  private static double readShare(Profile profile) {
    long all = profile.sum(row -> row.global().sectors());
    long written =
        profile.sum(row ->
            row.instruction().form().semantics() instanceof Semantics.Store
                ? row.global().sectors()
                : 0);
    return all == 0 ? 0 : (double) (all - written) / all;
  }

  private static List<LineCost> lines(
      Profile profile, Machine machine, Map<Resource, Bound> whole) {
    var lines = new ArrayList<LineCost>();
    profile
        .lines()
        .forEach((line, rows) -> {
          var dearest =
              machine.busy(rows).values().stream().max(Comparator.comparingDouble(Bound::seconds));
          dearest.ifPresent(bound -> {
            var all = whole.get(bound.resource());
            lines.add(
                new LineCost(
                    line,
                    bound.resource(),
                    bound.seconds(),
                    all == null ? 0 : bound.seconds() / all.seconds(),
                    rows.stream().mapToLong(Row::executed).sum()));
          });
        });
    lines.sort(Comparator.comparingDouble(LineCost::seconds).reversed());
    return lines.subList(0, Math.min(COSTLIEST, lines.size()));
  }

  private static void add(
      Map<Resource, Bound> busy, Resource resource, double amount, double rate, boolean estimate) {
    if (amount > 0) {
      busy.put(resource, new Bound(resource, amount, rate, amount / rate, estimate));
    }
  }

  /**
   * The multiprocessors that have work.
   *
   * @param used number of them; less than the GPU has if there are fewer blocks
   * @param scale blocks of the grid for each block that was run
   */
  private record Machine(Gpu gpu, int used, double scale, IssueSlots issue) {

    /** Returns the busy time of each resource that the rows use, except device memory. */
    Map<Resource, Bound> busy(Collection<Row> rows) {
      var ceilings = gpu.ceilings();
      var busy = new EnumMap<Resource, Bound>(Resource.class);
      double cycles = ceilings.clock() * used;
      double bytes =
          (double) Sectors.SECTOR * rows.stream().mapToLong(row -> row.global().sectors()).sum();
      double l2 = ceilings.l2BytesPerCycle() * ceilings.clock();
      add(busy, Resource.L2, scale * bytes, l2, true);
      double wavefronts = rows.stream().mapToLong(row -> row.shared().minimum()).sum();
      add(busy, Resource.SHARED, scale * wavefronts, Ceilings.WAVEFRONTS * cycles, false);
      double issues = issue.perPtx() * rows.stream().mapToLong(Row::issues).sum();
      add(busy, Resource.ISSUE, scale * issues, Ceilings.ISSUES * cycles, issue.estimate());
      results(busy, Resource.F32, rows, Unit.F32, ceilings.f32());
      results(busy, Resource.F16, rows, Unit.F16, ceilings.f16());
      results(busy, Resource.F64, rows, Unit.F64, ceilings.f64());
      results(busy, Resource.SPECIAL, rows, Unit.SPECIAL, ceilings.special());
      double integers = Math.min(1, issue.perPtx()) * results(rows, Unit.INTEGER);
      add(busy, Resource.INTEGER, scale * integers, ceilings.integer() * cycles, true);
      tensor(busy, rows);
      return busy;
    }

    private void results(
        Map<Resource, Bound> busy, Resource resource, Collection<Row> rows, Unit unit, int lanes) {
      double rate = lanes * gpu.ceilings().clock() * used;
      add(busy, resource, scale * results(rows, unit), rate, false);
    }

    /** Returns the results of all lanes, because inactive lanes take time as well. */
    private static double results(Collection<Row> rows, Unit unit) {
      return rows.stream()
          .filter(row -> row.cost().unit() == unit)
          .mapToDouble(row -> (double) WARP * row.cost().results() * row.executed())
          .sum();
    }

    /**
     * Adds the tensor cores' time, which is the sum over types because they compute one type at a
     * time.
     */
    private void tensor(Map<Resource, Bound> busy, Collection<Row> rows) {
      double operations = 0;
      double seconds = 0;
      for (var row : rows) {
        var type = row.cost().tensor();
        if (type != null && row.flops() > 0) {
          operations += scale * row.flops();
          seconds += scale * row.flops() / rate(type, row.instruction());
        }
      }
      add(busy, Resource.TENSOR, operations, operations / seconds, false);
    }

    private double rate(Tensor type, Instruction instruction) {
      var ceilings = gpu.ceilings();
      boolean isWgmma = instruction.form().semantics() instanceof Semantics.Wgmma;
      boolean isOpaque =
          instruction.form().semantics() instanceof Semantics.Warp warp
              && warp.function() == MatrixProduct.WMMA
              && !gpu.target().canRun(Target.SM_75);
      double rate =
          isWgmma || isOpaque ? ceilings.tensorRate(type, used) : ceilings.mmaRate(type, used);
      if (rate == 0 && type == Tensor.F64) {
        return 2.0 * ceilings.f64() * ceilings.clock() * used; // as fma on the FP64 cores
      }
      if (rate == 0) {
        throw new IllegalArgumentException(
            "%s has no tensor cores for %s; it cannot run this kernel"
                .formatted(gpu.name(), type.name().toLowerCase(Locale.ROOT)));
      }
      return rate;
    }
  }
}
