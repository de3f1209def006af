package dev.athanor.ops.cost;

import dev.athanor.engine.analysis.Ceilings;
import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import java.util.Comparator;
import java.util.Locale;

/**
 * The GPU model with which planners rank kernels: it estimates the time of a launch from the work
 * of a block. {@link Gpu} provides the rates; memory bandwidth scales with the number of
 * multiprocessors. Decision 21 describes the model.
 *
 * @param gpu the described GPU that is most similar to the device
 * @param multiprocessors of the device
 */
public record Machine(Gpu gpu, int multiprocessors) {

  /** The minimum end-to-end time of a launch in microseconds: assumed, not measured. */
  public static final double LAUNCH_MICROSECONDS = 2.5;

  /**
   * The part of {@link #LAUNCH_MICROSECONDS} by which a dependent launch overlaps with the previous
   * one: the least of the 1 to 3 us that are reported for each pair of launches.
   */
  private static final double OVERLAP_MICROSECONDS = 1;

  /** Cycles per barrier that nothing within the block overlaps. */
  public static final double BARRIER_CYCLES = 100;

  /** The maximum number of registers per thread. */
  public static final int MOST_REGISTERS = 255;

  /**
   * Instructions of a main loop per {@code mma}, without copies: the {@code mma} and its share of
   * the fragment loads. Source: the ledger of first choices.
   */
  public static final double MMA_INSTRUCTIONS = 1.75;

  /**
   * Instructions of an asynchronous copy: the copy, its predicate and its addresses. Source: the
   * ledger of first choices.
   */
  public static final double COPY_INSTRUCTIONS = 4;

  /** Warps that saturate the units of a multiprocessor: two per scheduler. */
  private static final double BUSY_WARPS = 8;

  /** Instructions per warp before its first load and after its last store: a round number. */
  private static final double PROLOGUE_INSTRUCTIONS = 100;

  /**
   * The fraction of the shorter of computing and transferring that does not overlap with the
   * longer.
   */
  private static final double APART = 0.25;

  /**
   * The latency of the L2 cache in cycles: a round number near the 260 to 300 that microbenchmarks
   * report (arXiv 2402.13499).
   */
  private static final double L2_LATENCY = 300;

  /** Bytes of a wavefront of shared memory. */
  public static final double WAVEFRONT = 128;

  /**
   * Returns the model of a device: the GPU of the same name, otherwise the first one with the
   * nearest target.
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

  /** Returns the cycles of multiply-adds at the peak rate: {@code wgmma}, and Volta's wmma. */
  public double peakTensorCycles(double multiplyAdds, Type factors) {
    return 2 * multiplyAdds / gpu.ceilings().tensor().getOrDefault(tensor(factors), 1);
  }

  /** Returns the cycles of multiply-adds on the tensor cores of a multiprocessor. */
  public double tensorCycles(double multiplyAdds, Type factors) {
    var ceilings = gpu.ceilings();
    var type = tensor(factors);
    int operations = ceilings.mma().getOrDefault(type, ceilings.tensor().getOrDefault(type, 0));
    if (operations == 0) {
      // mma of f64 runs on the FP64 cores; no planner offers other missing types
      return laneCycles(multiplyAdds, Type.F64);
    }
    return 2 * multiplyAdds / operations;
  }

  private static Tensor tensor(Type factors) {
    return switch (factors) {
      case F16 -> Tensor.F16;
      case BF16 -> Tensor.BF16;
      case TF32 -> Tensor.TF32;
      case E4M3, E5M2 -> Tensor.FP8;
      case S8 -> Tensor.INT8;
      case F64 -> Tensor.F64;
      default -> throw new IllegalArgumentException(factors + " is not for tensor cores");
    };
  }

  /** Returns the cycles of multiply-adds of f32 or f64 without tensor cores. */
  public double laneCycles(double multiplyAdds, Type type) {
    var ceilings = gpu.ceilings();
    return multiplyAdds / (type == Type.F64 ? ceilings.f64() : ceilings.f32());
  }

  /** Returns the cycles to issue warp instructions on a multiprocessor. */
  public double issueCycles(double instructions) {
    return instructions / Ceilings.ISSUES;
  }

  /** Returns the cycles of exponentials and similar functions. */
  public double specialCycles(double results) {
    return results / gpu.ceilings().special();
  }

  /** Returns the cycles of shared-memory accesses without bank conflicts. */
  public double sharedCycles(double bytes) {
    return bytes / (WAVEFRONT * Ceilings.WAVEFRONTS);
  }

  /** Returns the latency of device memory in cycles. */
  public double latency() {
    return gpu.ceilings().dram().latency() * gpu.ceilings().clock();
  }

  /** Returns the number of resident blocks per multiprocessor; at least 1. */
  public int resident(BlockWork block) {
    return Math.max(
        1, gpu.occupancy(block.threads(), block.registers(), block.sharedBytes()).blocks());
  }

  /** Returns the number of resident blocks of the device. */
  public long slots(BlockWork block) {
    return (long) multiprocessors * resident(block);
  }

  /**
   * Returns the time of a launch: full waves of blocks, and a partial wave, which is shorter if
   * fewer blocks share a multiprocessor.
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

  /**
   * Returns the relative time of a launch on an emulator, where one block runs on each worker and
   * every instruction takes its time, whatever else is in progress.
   */
  public double emulated(long blocks, BlockWork block) {
    return microseconds(Math.ceilDiv(blocks, (long) multiprocessors) * block.busy());
  }

  /** Returns the time of a launch that only reads and writes memory. */
  public double streaming(double bytes) {
    return streaming(1, bytes);
  }

  /** Returns the time of launches that only read and write memory. */
  public double streaming(int launches, double bytes) {
    return launches * LAUNCH_MICROSECONDS
        + microseconds(launches * latency() + bytes / dramBytesPerCycle());
  }

  /**
   * Returns the time of a launch that adds the partial sums of the previous launch. It reads them
   * from the L2 cache if they fit.
   *
   * @param sums bytes of the partial sums
   * @param results bytes of the results
   * @param rounds dependent loads per thread
   */
  public double sum(double sums, double results, int rounds) {
    boolean cached = sums <= gpu.ceilings().l2Bytes();
    double share = (double) multiprocessors / gpu.multiprocessors();
    double rate = gpu.ceilings().l2BytesPerCycle() * share;
    // partial sums beyond the L2 cache are transferred twice: written and read
    return cached
        ? streaming(results) + microseconds(sums / rate + rounds * L2_LATENCY)
        : streaming(2 * sums + results);
  }

  /**
   * Returns the time of a {@link #sum} that is a dependent launch, if the previous launch lets it
   * begin. Before sm_90, it is an ordinary one.
   */
  public double dependentSum(double sums, double results, int rounds) {
    double overlap = gpu.target().sm() >= Target.SM_90.sm() ? OVERLAP_MICROSECONDS : 0;
    return sum(sums, results, rounds) - overlap;
  }

  private double microseconds(double cycles) {
    return 1e6 * cycles / gpu.ceilings().clock();
  }

  /** Returns the cycles of blocks that run concurrently. */
  private double wave(BlockWork block, long blocks, double dramBytes) {
    int together = (int) Math.ceilDiv(blocks, (long) multiprocessors);
    double shared = overlapped(block, together, Math.ceilDiv(blocks, (long) together), dramBytes);
    double alone = overlapped(block, 1, 1, dramBytes) + block.stalls();
    return Math.max(shared, alone);
  }

  /**
   * Returns the cycles of blocks, without stalls.
   *
   * @param together blocks per multiprocessor
   * @param used number of multiprocessors in use
   * @param dramBytes bytes of device memory per block
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

  /** Returns the device-memory bandwidth in bytes per cycle. */
  private double dramBytesPerCycle() {
    var ceilings = gpu.ceilings();
    return ceilings.dram().sustained() / ceilings.clock() * multiprocessors / gpu.multiprocessors();
  }
}
