package dev.athanor.ops.cost;

import dev.athanor.engine.analysis.Ceilings;
import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import java.util.Comparator;
import java.util.Locale;

/**
 * The model of a GPU by which planners rank kernels: how long a launch takes, from the work of a
 * block. All rates are those of {@link Gpu}; a device with another number of multiprocessors has
 * its share of the memory bandwidth. Decision 21 describes the model.
 *
 * @param gpu the described GPU that is most like the device
 * @param multiprocessors of the device
 */
public record Machine(Gpu gpu, int multiprocessors) {

  /**
   * The least time of a launch from end to end, in microseconds, however little it does: assumed,
   * not measured.
   */
  public static final double LAUNCH_MICROSECONDS = 2.5;

  /** Cycles from one barrier to the next that nothing within a block overlaps. */
  public static final double BARRIER_CYCLES = 100;

  /** The most registers that a thread can have. */
  public static final int MOST_REGISTERS = 255;

  /**
   * Instructions of a main loop beside its copies, for each {@code mma}: that one, and its share of
   * the reads of fragments. Source: the ledger of first choices.
   */
  public static final double MMA_INSTRUCTIONS = 1.75;

  /**
   * Instructions of an asynchronous copy: the copy, its predicate and its addresses. Source: the
   * ledger of first choices.
   */
  public static final double COPY_INSTRUCTIONS = 4;

  /** Warps of a multiprocessor that together keep its units busy: two for each scheduler. */
  private static final double BUSY_WARPS = 8;

  /** Instructions of each warp before its first load and after its last store: a round number. */
  private static final double PROLOGUE_INSTRUCTIONS = 100;

  /** The share of the shorter of computing and reading that does not overlap with the longer. */
  private static final double APART = 0.25;

  /**
   * Cycles from a load to its data in the L2 cache: a round number near the 260 to 300 that
   * microbenchmarks report (arXiv 2402.13499).
   */
  private static final double L2_LATENCY = 300;

  /** Bytes of a wavefront of shared memory. */
  public static final double WAVEFRONT = 128;

  /**
   * Returns the machine for a device: the GPU of the same name, otherwise the first of the nearest target.
   */
  public static Machine of(Capability device) {
    var name = plain(device.name());
    var gpu =
        Gpu.ALL.stream()
            .filter(each -> name.contains(plain(each.name())))
            .findFirst()
            .orElseGet(() ->
                Gpu.ALL.stream()
                    .min(
                        Comparator.comparingInt(
                            each -> Math.abs(each.target().sm() - device.target().sm())))
                    .orElseThrow());
    return new Machine(gpu, device.multiprocessors());
  }

  private static String plain(String name) {
    return name.replaceAll("[ _-]", "").toUpperCase(Locale.ROOT);
  }

  /** Returns the cycles of multiply-adds on the tensor cores of a multiprocessor. */
  public double tensorCycles(double multiplyAdds, Type factors) {
    var ceilings = gpu.ceilings();
    var type =
        switch (factors) {
          case F16 -> Tensor.F16;
          case BF16 -> Tensor.BF16;
          case TF32 -> Tensor.TF32;
          case E4M3, E5M2 -> Tensor.FP8;
          case S8 -> Tensor.INT8;
          case F64 -> Tensor.F64;
          default -> throw new IllegalArgumentException(factors + " is not for tensor cores");
        };
    int operations = ceilings.mma().getOrDefault(type, ceilings.tensor().getOrDefault(type, 0));
    if (operations == 0) {
      // mma of f64 runs on the FP64 cores; what else is missing no planner offers
      return laneCycles(multiplyAdds, Type.F64);
    }
    return 2 * multiplyAdds / operations;
  }

  /** Returns the cycles of multiply-adds of f32 or f64 without tensor cores. */
  public double laneCycles(double multiplyAdds, Type type) {
    var ceilings = gpu.ceilings();
    return multiplyAdds / (type == Type.F64 ? ceilings.f64() : ceilings.f32());
  }

  /** Returns the cycles in which a multiprocessor issues instructions of warps. */
  public double issueCycles(double instructions) {
    return instructions / Ceilings.ISSUES;
  }

  /** Returns the cycles of exponentials and similar functions. */
  public double specialCycles(double results) {
    return results / gpu.ceilings().special();
  }

  /** Returns the cycles in which shared memory reads or writes so many bytes without conflicts. */
  public double sharedCycles(double bytes) {
    return bytes / (WAVEFRONT * Ceilings.WAVEFRONTS);
  }

  /** Returns the cycles from a load to its data. */
  public double latency() {
    return gpu.ceilings().dram().latency() * gpu.ceilings().clock();
  }

  /** Returns how many blocks a multiprocessor holds; 1 where the estimates say none. */
  public int resident(BlockWork block) {
    return Math.max(
        1, gpu.occupancy(block.threads(), block.registers(), block.sharedBytes()).blocks());
  }

  /** Returns how many blocks the device holds at once. */
  public long slots(BlockWork block) {
    return (long) multiprocessors * resident(block);
  }

  /**
   * Returns the time of a launch: whole waves of blocks, and a last one that is shorter where fewer
   * blocks share a multiprocessor.
   *
   * @param dramBytes bytes that the launch reads from device memory and writes to it
   */
  public double microseconds(long blocks, BlockWork block, double dramBytes) {
    if (blocks == 0) {
      return LAUNCH_MICROSECONDS;
    }
    long slots = slots(block);
    double ofBlock = dramBytes / blocks;
    double whole = (double) Math.floorDiv(blocks, slots);
    double cycles = whole * wave(block, slots, ofBlock);
    if (blocks % slots > 0) {
      cycles += wave(block, blocks % slots, ofBlock);
    }
    return LAUNCH_MICROSECONDS + microseconds(latency() + cycles);
  }

  /** Returns the time of a launch that does nothing but read and write so many bytes. */
  public double streaming(double bytes) {
    return streaming(1, bytes);
  }

  /** Returns the time of launches that together do nothing but read and write so many bytes. */
  public double streaming(int launches, double bytes) {
    return launches * LAUNCH_MICROSECONDS
        + microseconds(launches * latency() + bytes / dramBytesPerCycle());
  }

  /**
   * Returns the time of a launch that adds partial sums that the launch before wrote. They come
   * from the L2 cache if they fit.
   *
   * @param sums bytes of the partial sums
   * @param results bytes that it writes
   * @param rounds loads of a thread, one after the other
   */
  public double sum(double sums, double results, int rounds) {
    boolean cached = sums <= gpu.ceilings().l2Bytes();
    double share = (double) multiprocessors / gpu.multiprocessors();
    double rate = gpu.ceilings().l2BytesPerCycle() * share;
    // written bytes that memory takes pass it twice: when written and when read
    return cached
        ? streaming(results) + microseconds(sums / rate + rounds * L2_LATENCY)
        : streaming(2 * sums + results);
  }

  private double microseconds(double cycles) {
    return 1e6 * cycles / gpu.ceilings().clock();
  }

  /** Returns the cycles of blocks that run at the same time. */
  private double wave(BlockWork block, long blocks, double dramBytes) {
    int together = (int) Math.ceilDiv(blocks, (long) multiprocessors);
    double shared = overlapped(block, together, Math.ceilDiv(blocks, (long) together), dramBytes);
    double alone = overlapped(block, 1, 1, dramBytes) + block.stalls();
    return Math.max(shared, alone);
  }

  /**
   * Returns the cycles of blocks that never wait for a barrier.
   *
   * @param together blocks of a multiprocessor
   * @param used multiprocessors
   * @param dramBytes bytes of device memory that each block moves
   */
  private double overlapped(BlockWork block, int together, long used, double dramBytes) {
    var ceilings = gpu.ceilings();
    double warps = Math.ceilDiv(block.threads(), Warps.SIZE);
    double computing =
        (block.busy() + issueCycles(PROLOGUE_INSTRUCTIONS * warps))
            * Math.max(together, BUSY_WARPS / warps);
    double missed = Math.min(1, dramBytes / Math.max(1, block.bytes()));
    double latency = L2_LATENCY + missed * (latency() - L2_LATENCY);
    double rate =
        Math.min(
            ceilings.l2BytesPerCycle() / gpu.multiprocessors(),
            together * block.bytesInFlight() / latency);
    double moving =
        Math.max(
            block.bytes() == 0 ? 0 : together * block.bytes() / rate,
            together * used * dramBytes / dramBytesPerCycle());
    return Math.max(computing, moving) + APART * Math.min(computing, moving);
  }

  /** Returns the bytes that device memory moves in a cycle. */
  private double dramBytesPerCycle() {
    var ceilings = gpu.ceilings();
    return ceilings.dram().sustained() / ceilings.clock() * multiprocessors / gpu.multiprocessors();
  }
}
