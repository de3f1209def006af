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
 * How fast a GPU could run a launch at best: for each of its resources, the time that the launch
 * keeps it busy when nothing ever waits. The longest of these bounds the time from below; what a
 * kernel takes is longer, by latencies, stalls and whatever does not overlap.
 *
 * <p>Work counts as it stands in the PTX, an instruction of the GPU for one of PTX, moves and
 * parameters aside. An assembler merges, moves and removes some integer instructions, so {@link
 * Resource#ISSUE} and {@link Resource#INTEGER} are estimates, as is {@link Resource#L2} whose
 * bandwidth few data sheets give; and it makes several of a division or a root. Of DRAM, every
 * touched sector counts once: caches start cold and forget nothing.
 *
 * @param registers of a thread, by which the occupancy goes
 * @param waves how many times the GPU is filled with blocks; infinite where not even one fits
 * @param filled the share of places for blocks in these waves that have one
 * @param bounds the resources that are used, the one that takes longest first
 * @param lines the costliest lines of the source
 */
public record Roofline(
    Gpu gpu,
    int registers,
    Occupancy occupancy,
    double waves,
    double filled,
    List<Bound> bounds,
    List<LineCost> lines) {

  private static final int WARP = Warps.SIZE;
  private static final int COSTLIEST = 5;

  /** A resource that a launch uses. */
  public enum Resource {
    /** Memory of the device. */
    DRAM("bytes"),
    SHARED("wavefronts"),
    F32("results"),
    F16("results"),
    F64("results"),
    /** Reciprocals, roots, exponentials and such. */
    SPECIAL("results"),
    TENSOR("operations"),
    // estimates come last, so that what is certain goes before them where both take as long
    /** The level 2 cache. */
    L2("bytes"),
    /** The schedulers. */
    ISSUE("instructions"),
    INTEGER("results");

    private final String unit;

    Resource(String unit) {
      this.unit = unit;
    }

    /** The unit of its counts. */
    public String unit() {
      return unit;
    }
  }

  /**
   * A bound.
   *
   * @param amount of work, in the resource's unit
   * @param rate that the GPU can do in a second
   * @param seconds that it takes at least
   * @param estimate whether amount or rate are not known for certain
   */
  public record Bound(
      Resource resource, double amount, double rate, double seconds, boolean estimate) {}

  /**
   * The cost of a line of the source.
   *
   * @param resource that it keeps busy longest; never {@link Resource#DRAM}, since whoever touches
   *     a sector first pays for all
   * @param seconds that it keeps it busy
   * @param share of the whole launch's use of that resource
   */
  public record LineCost(
      String line, Resource resource, double seconds, double share, long executed) {}

  public Roofline {
    bounds = List.copyOf(bounds);
    lines = List.copyOf(lines);
  }

  /** The resource that takes longest, by an estimate perhaps. */
  public Bound limiter() {
    return bounds.getFirst();
  }

  /** The longest bound that is no estimate, if there is any. */
  public Optional<Bound> certain() {
    return bounds.stream().filter(bound -> !bound.estimate()).findFirst();
  }

  /**
   * The bounds of a launch. Where not all of its blocks were run, the rest counts like those, DRAM
   * aside.
   *
   * @param registers of a thread, as an assembler says
   * @throws IllegalArgumentException when the GPU has no unit for what the kernel computes
   */
  public static Roofline of(Profile profile, Gpu gpu, int registers) {
    int threads = (int) profile.block().count();
    var occupancy = gpu.occupancy(threads, registers, profile.sharedBytes());
    long blocks = profile.grid().count();
    long places = (long) gpu.multiprocessors() * occupancy.blocks();
    double waves = places == 0 ? Double.POSITIVE_INFINITY : Math.ceilDiv(blocks, places);
    double filled = places == 0 ? 0 : blocks / (waves * places);

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
   * @param used fewer than the GPU has when there are fewer blocks
   */
  private record Machine(Gpu gpu, int used) {

    /** How long rows keep the resources busy that they use, DRAM aside. */
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
      double wavefronts = rows.stream().mapToLong(row -> row.shared().least()).sum();
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

    /** Results of all lanes: those that are not active take their turn too. */
    private static double results(Collection<Row> rows, Unit unit) {
      return rows.stream()
          .filter(row -> row.cost().unit() == unit)
          .mapToDouble(row -> (double) WARP * row.cost().results() * row.executed())
          .sum();
    }

    /** Tensor cores compute one type at a time, so the times add up. */
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
        return 2.0 * gpu.ceilings().f64() * gpu.ceilings().clock() * used; // as fma of the cores
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
