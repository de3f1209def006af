package dev.athanor.engine.analysis;

import dev.athanor.engine.analysis.Ceilings.Dram;
import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.device.Multiprocessor;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Warps;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * A GPU.
 *
 * @param multiprocessors how many it has
 * @param ceilings what it does at most
 */
public record Gpu(String name, Target target, int multiprocessors, Ceilings ceilings) {

  private static final Map<Tensor, Integer> HOPPER =
      Map.of(
          Tensor.F16, 4096,
          Tensor.F16_IN_F16, 4096,
          Tensor.BF16, 4096,
          Tensor.TF32, 2048,
          Tensor.FP8, 8192,
          Tensor.INT8, 8192,
          Tensor.F64, 256);

  /**
   * What {@code mma.sync} reaches of the peaks of {@link #HOPPER}, which only {@code wgmma}
   * reaches: about 62 %. Source: Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU
   * Architecture (arXiv 2402.13499), whose tables of {@code mma} give 62.9 % on average. f64 has no
   * {@code wgmma}. sm_90 has no {@code mma.sync} of fp8: the assembler converts the factors and
   * multiplies them as f16.
   */
  private static final Map<Tensor, Integer> HOPPER_MMA =
      Map.of(
          Tensor.F16, 2540,
          Tensor.F16_IN_F16, 2540,
          Tensor.BF16, 2540,
          Tensor.TF32, 1270,
          Tensor.FP8, 2540,
          Tensor.INT8, 5079);

  /**
   * H200 SXM. Its size of L2 is what the driver reports; no data sheet has it. The bandwidth is of
   * a copy within the device.
   */
  public static final Gpu H200 =
      new Gpu(
          "H200",
          new Target(90, true),
          132,
          new Ceilings(
              1.98e9,
              Dram.measured(4.8e12, 4.3e12),
              60L << 20,
              6144,
              128,
              256,
              64,
              64,
              16,
              HOPPER,
              HOPPER_MMA));

  /** H100 SXM, of 80 GB (NVIDIA H100 Tensor Core GPU Architecture whitepaper). */
  public static final Gpu H100 =
      new Gpu(
          "H100",
          new Target(90, true),
          132,
          new Ceilings(
              1.98e9,
              Dram.assumed(3.35e12),
              50L << 20,
              5120,
              128,
              256,
              64,
              64,
              16,
              HOPPER,
              HOPPER_MMA));

  /** A100 SXM, of 80 GB (NVIDIA A100 Tensor Core GPU Architecture whitepaper). */
  public static final Gpu A100 =
      new Gpu(
          "A100",
          Target.SM_80,
          108,
          new Ceilings(
              1.41e9,
              Dram.assumed(2.039e12),
              40L << 20,
              5120,
              64,
              256,
              32,
              64,
              16,
              Map.of(
                  Tensor.F16, 2048,
                  Tensor.F16_IN_F16, 2048,
                  Tensor.BF16, 2048,
                  Tensor.TF32, 1024,
                  Tensor.INT8, 4096,
                  Tensor.F64, 128),
              Map.of()));

  /** GeForce RTX 4090 (NVIDIA Ada GPU Architecture whitepaper). */
  public static final Gpu RTX_4090 =
      new Gpu(
          "RTX 4090",
          Target.SM_89,
          128,
          new Ceilings(
              2.52e9,
              Dram.assumed(1.008e12),
              72L << 20,
              2304,
              128,
              128,
              2,
              64,
              16,
              Map.of(
                  Tensor.F16, 512,
                  Tensor.F16_IN_F16, 1024,
                  Tensor.BF16, 512,
                  Tensor.TF32, 256,
                  Tensor.FP8, 1024,
                  Tensor.INT8, 2048),
              Map.of()));

  /** L4 (NVIDIA L4 data sheet, whose tensor peaks are of sparse matrices: twice these). */
  public static final Gpu L4 =
      new Gpu(
          "L4",
          Target.SM_89,
          58,
          new Ceilings(
              2.04e9,
              Dram.assumed(3.0e11),
              48L << 20,
              1536,
              128,
              128,
              2,
              64,
              16,
              Map.of(
                  Tensor.F16, 1024,
                  Tensor.F16_IN_F16, 1024,
                  Tensor.BF16, 1024,
                  Tensor.TF32, 512,
                  Tensor.FP8, 2048,
                  Tensor.INT8, 2048),
              Map.of()));

  /**
   * GeForce RTX 5090 (NVIDIA RTX Blackwell GPU Architecture whitepaper). Its lanes compute f32 and
   * integers alike.
   */
  public static final Gpu RTX_5090 =
      new Gpu(
          "RTX 5090",
          new Target(120, false),
          170,
          new Ceilings(
              2.407e9,
              Dram.assumed(1.792e12),
              96L << 20,
              3072,
              128,
              128,
              2,
              128,
              16,
              Map.of(
                  Tensor.F16, 512,
                  Tensor.F16_IN_F16, 1024,
                  Tensor.BF16, 512,
                  Tensor.TF32, 256,
                  Tensor.FP8, 1024,
                  Tensor.INT8, 2048),
              Map.of()));

  /**
   * What a product of tensor cores reaches without them: in 32 lanes, a product of 16 × 8 × 16
   * takes 64 multiply-adds, as many conversions, and 32 exchanges at half the rate.
   */
  private static final int ON_LANES = 43;

  /** The same for bytes, of which an instruction multiplies four. */
  private static final int BYTES_ON_LANES = 170;

  /**
   * V100 SXM2 (NVIDIA Tesla V100 GPU Architecture whitepaper). Kernels use its tensor cores with
   * {@code wmma}, not {@code mma.sync}.
   */
  public static final Gpu V100 =
      new Gpu(
          "V100",
          new Target(70, false),
          80,
          new Ceilings(
              1.53e9,
              Dram.assumed(9.0e11),
              6L << 20,
              2048,
              64,
              128,
              32,
              64,
              16,
              Map.of(Tensor.F16, 1024, Tensor.F16_IN_F16, 1024),
              Map.of(
                  Tensor.F16, ON_LANES,
                  Tensor.F16_IN_F16, ON_LANES,
                  Tensor.BF16, ON_LANES,
                  Tensor.TF32, ON_LANES,
                  Tensor.INT8, BYTES_ON_LANES)));

  /** T4 (NVIDIA Turing GPU Architecture whitepaper). */
  public static final Gpu T4 =
      new Gpu("T4", Target.SM_75, 40, turing(1.59e9, 3.2e11, 4L << 20, 1024, 1024));

  /** GeForce RTX 2080 Ti (NVIDIA Turing GPU Architecture whitepaper). */
  public static final Gpu RTX_2080_TI =
      new Gpu("RTX 2080 Ti", Target.SM_75, 68, turing(1.545e9, 6.16e11, 11L << 19, 1408, 512));

  private static Ceilings turing(
      double clock, double bandwidth, long l2Bytes, double l2BytesPerCycle, int f16) {
    return new Ceilings(
        clock,
        Dram.assumed(bandwidth),
        l2Bytes,
        l2BytesPerCycle,
        64,
        128,
        2,
        64,
        16,
        Map.of(Tensor.F16, f16, Tensor.F16_IN_F16, 1024, Tensor.INT8, 2048),
        Map.of(Tensor.BF16, ON_LANES, Tensor.TF32, ON_LANES));
  }

  /** A10 (NVIDIA A10 data sheet). */
  public static final Gpu A10 =
      new Gpu(
          "A10",
          Target.SM_86,
          72,
          ampere(1.695e9, 6.0e11, 6L << 20, 3072, 64, tensor(1024, 1024, 0)));

  /** GeForce RTX 3090 (NVIDIA Ampere GA102 GPU Architecture whitepaper). */
  public static final Gpu RTX_3090 =
      new Gpu(
          "RTX 3090",
          Target.SM_86,
          82,
          ampere(1.695e9, 9.36e11, 6L << 20, 3072, 64, tensor(512, 1024, 0)));

  /** RTX 6000 Ada Generation (NVIDIA Ada GPU Architecture whitepaper). */
  public static final Gpu RTX_6000_ADA =
      new Gpu(
          "RTX 6000 Ada",
          Target.SM_89,
          142,
          ampere(2.505e9, 9.6e11, 96L << 20, 3072, 64, tensor(1024, 1024, 2048)));

  private static Ceilings ampere(
      double clock,
      double bandwidth,
      long l2Bytes,
      double l2BytesPerCycle,
      int integer,
      Map<Tensor, Integer> tensor) {
    return new Ceilings(
        clock,
        Dram.assumed(bandwidth),
        l2Bytes,
        l2BytesPerCycle,
        128,
        128,
        2,
        integer,
        16,
        tensor,
        Map.of());
  }

  /** Returns the rates of tensor cores since Ampere; those of fp8 are 0 before Ada. */
  private static Map<Tensor, Integer> tensor(int f16, int f16InF16, int fp8) {
    var rates =
        new EnumMap<Tensor, Integer>(
            Map.of(
                Tensor.F16, f16,
                Tensor.F16_IN_F16, f16InF16,
                Tensor.BF16, f16,
                Tensor.TF32, f16 / 2,
                Tensor.INT8, 2048));
    if (fp8 > 0) {
      rates.put(Tensor.FP8, fp8);
    }
    return rates;
  }

  /**
   * B200 (NVIDIA Blackwell Architecture Technical Brief). What {@code mma.sync} reaches is assumed
   * to be as on {@link #H100}.
   */
  public static final Gpu B200 =
      new Gpu(
          "B200",
          new Target(100, false),
          148,
          new Ceilings(
              1.85e9,
              Dram.assumed(8.0e12),
              126L << 20,
              12_288,
              128,
              256,
              64,
              64,
              16,
              Map.of(
                  Tensor.F16, 8192,
                  Tensor.F16_IN_F16, 8192,
                  Tensor.BF16, 8192,
                  Tensor.TF32, 4096,
                  Tensor.FP8, 16_384,
                  Tensor.INT8, 16_384,
                  Tensor.F64, 128),
              HOPPER_MMA));

  /** Every GPU that is described here. */
  public static final List<Gpu> ALL =
      List.of(
          H200,
          H100,
          A100,
          RTX_4090,
          L4,
          RTX_5090,
          B200,
          RTX_6000_ADA,
          RTX_3090,
          A10,
          RTX_2080_TI,
          T4,
          V100);

  /** A warp's registers come in units of this many. */
  private static final int REGISTER_UNIT = 256;

  /** Warps come in units of this many, one for each scheduler. */
  private static final int WARP_UNIT = 4;

  private static final int SHARED_UNIT = 128;

  /** The GPU of a name, in any case and with or without spaces and dashes. */
  public static Optional<Gpu> named(String name) {
    return ALL.stream().filter(gpu -> plain(gpu.name).equals(plain(name))).findFirst();
  }

  private static String plain(String name) {
    return name.replaceAll("[ _-]", "").toUpperCase(Locale.ROOT);
  }

  /**
   * Whether an fp8 {@code mma.sync} is one machine instruction. Elsewhere, on sm_90 and sm_100, the
   * assembler converts the factors to f16 and multiplies the two halves of K one after the other.
   */
  public boolean hasFp8Mma() {
    return target.sm() / 10 != 9 && target.sm() / 10 != 10;
  }

  /** Returns what each of its multiprocessors holds. */
  public Multiprocessor multiprocessor() {
    return Multiprocessor.of(target);
  }

  /**
   * How many blocks of a kernel a multiprocessor holds.
   *
   * @param threads of a block
   * @param registersPerThread as the assembler says
   * @param shared bytes of a block, static and dynamic
   */
  public Occupancy occupancy(int threads, int registersPerThread, int shared) {
    int blockWarps = Math.ceilDiv(threads, Warps.SIZE);
    int warpRegisters =
        Math.ceilDiv(Math.max(registersPerThread, 1) * Warps.SIZE, REGISTER_UNIT) * REGISTER_UNIT;
    var of = multiprocessor();
    int byRegisters = of.registers() / warpRegisters / WARP_UNIT * WARP_UNIT / blockWarps;
    int byShared =
        of.sharedBytes()
            / (Math.max(1, Math.ceilDiv(shared + of.reservedSharedBytes(), SHARED_UNIT))
                * SHARED_UNIT);
    int byWarps = of.warps() / blockWarps;
    int resident = Math.min(Math.min(of.blocks(), byWarps), Math.min(byRegisters, byShared));
    var limit =
        resident == byRegisters
            ? Occupancy.Limit.REGISTERS
            : resident == byShared
                ? Occupancy.Limit.SHARED_MEMORY
                : resident == byWarps ? Occupancy.Limit.WARPS : Occupancy.Limit.BLOCKS;
    return new Occupancy(
        resident, resident * blockWarps, (double) (resident * blockWarps) / of.warps(), limit);
  }
}
