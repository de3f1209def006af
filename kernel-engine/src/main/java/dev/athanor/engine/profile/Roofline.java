package dev.athanor.engine.profile;

import dev.athanor.engine.analysis.Ceilings;
import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.Occupancy;
import dev.athanor.engine.profile.Cost.Unit;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * A lower bound of a launch's time on a GPU: for each resource, the time for which the launch keeps
 * it busy. The longest of them is the bound. A kernel takes longer because of latencies, stalls and
 * imperfect overlap.
 *
 * <p>Each PTX instruction counts as one GPU instruction, except moves and parameters. An assembler
 * merges, moves and removes some integer instructions and expands divisions and roots, so {@link
 * Resource#ISSUE} and {@link Resource#INTEGER} are estimates. {@link Resource#L2} is an estimate
 * because few data sheets state its bandwidth. For DRAM, each accessed sector counts once: caches
 * start cold and never evict.
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
    /** Device memory. */
    DRAM("bytes"),
    SHARED("wavefronts"),
    F32("results"),
    F16("results"),
    F64("results"),
    /** Reciprocals, roots, exponentials and similar functions. */
    SPECIAL("results"),
    TENSOR("operations"),
    // estimates come last, so that certain bounds precede them on a tie
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
   * @param resource resource that it keeps busy longest; never {@link Resource#DRAM}, whose cost
   *     would fall on the first line that accesses a sector
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
   * except for DRAM.
   *
   * @param registers registers per thread, from an assembler
   * @throws IllegalArgumentException if the GPU lacks a unit that the kernel needs
   */
  public static Roofline of(Profile profile, Gpu gpu, int registers) {
    int threads = (int) profile.block().count();
    var occupancy = gpu.occupancy(threads, registers, profile.sharedBytes());
    long blocks = profile.grid().count();
    long slots = (long) gpu.multiprocessors() * occupancy.blocks();
    double waves = slots == 0 ? Double.POSITIVE_INFINITY : Math.ceilDiv(blocks, slots);
    double filled = slots == 0 ? 0 : blocks / (waves * slots);

    var machine = new Machine(gpu, (int) Math.min(blocks, gpu.multiprocessors()));
    double scale = profile.blocksRun() == 0 ? 0 : (double) blocks / profile.blocksRun();
    var busy = machine.busy(profile.rows(), scale);
    double touched = (double) profile.touchedSectors() * Sectors.SECTOR;
    if (touched > 0) {
      double rate = gpu.ceilings().dram();
      busy.put(Resource.DRAM, new Bound(Resource.DRAM, touched, rate, touched / rate, false));
    }
    var bounds = new ArrayList<>(busy.values());
    bounds.sort(Comparator.comparingDouble(Bound::seconds).reversed());
    return new Roofline(
        gpu, registers, occupancy, waves, filled, bounds, lines(profile, machine, scale, busy));
  }

  private static List<LineCost> lines(
      Profile profile, Machine machine, double scale, Map<Resource, Bound> whole) {
    var lines = new ArrayList<LineCost>();
    profile
        .lines()
        .forEach((line, rows) -> {
          var dearest =
              machine.busy(rows, scale).values().stream()
                  .max(Comparator.comparingDouble(Bound::seconds));
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

  /**
   * The multiprocessors that have work.
   *
   * @param used number of them; less than the GPU has if there are fewer blocks
   */
  private record Machine(Gpu gpu, int used) {

    /** Returns the busy time of each resource that the rows use, except DRAM. */
    Map<Resource, Bound> busy(Collection<Row> rows, double scale) {
      var ceilings = gpu.ceilings();
      var busy = new EnumMap<Resource, Bound>(Resource.class);
      double cycles = ceilings.clock() * used;
      double sectors = rows.stream().mapToLong(row -> row.global().sectors()).sum();
      add(
          busy,
          Resource.L2,
          scale * sectors * Sectors.SECTOR,
          ceilings.l2BytesPerCycle() * ceilings.clock());
      double wavefronts = rows.stream().mapToLong(row -> row.shared().minimum()).sum();
      add(busy, Resource.SHARED, scale * wavefronts, Ceilings.WAVEFRONTS * cycles);
      double issues = rows.stream().mapToLong(Row::issues).sum();
      add(busy, Resource.ISSUE, scale * issues, Ceilings.ISSUES * cycles);
      add(busy, Resource.F32, scale * results(rows, Unit.F32), ceilings.f32() * cycles);
      add(busy, Resource.F16, scale * results(rows, Unit.F16), ceilings.f16() * cycles);
      add(busy, Resource.F64, scale * results(rows, Unit.F64), ceilings.f64() * cycles);
      add(busy, Resource.INTEGER, scale * results(rows, Unit.INTEGER), ceilings.integer() * cycles);
      add(busy, Resource.SPECIAL, scale * results(rows, Unit.SPECIAL), ceilings.special() * cycles);
      tensor(busy, rows, scale);
      return busy;
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
    private void tensor(Map<Resource, Bound> busy, Collection<Row> rows, double scale) {
      double operations = 0;
      double seconds = 0;
      for (var row : rows) {
        var type = row.cost().tensor();
        if (type != null && row.flops() > 0) {
          operations += scale * row.flops();
          seconds += scale * row.flops() / rate(type);
        }
      }
      if (operations > 0) {
        busy.put(
            Resource.TENSOR,
            new Bound(Resource.TENSOR, operations, operations / seconds, seconds, false));
      }
    }

    private double rate(Tensor type) {
      double rate = gpu.ceilings().tensorRate(type, used);
      if (rate == 0 && type == Tensor.F64) {
        return 2.0
            * gpu.ceilings().f64()
            * gpu.ceilings().clock()
            * used; // as fma on the FP64 cores
      }
      if (rate == 0) {
        throw new IllegalArgumentException(
            "%s has no tensor cores for %s; it cannot run this kernel"
                .formatted(gpu.name(), type.name().toLowerCase(Locale.ROOT)));
      }
      return rate;
    }

    private static void add(
        Map<Resource, Bound> busy, Resource resource, double amount, double rate) {
      if (amount > 0) {
        boolean estimate =
            resource == Resource.L2 || resource == Resource.ISSUE || resource == Resource.INTEGER;
        busy.put(resource, new Bound(resource, amount, rate, amount / rate, estimate));
      }
    }
  }
}
