package dev.athanor.engine.analysis;

import java.util.Map;

/**
 * The peak rates of a GPU at its boost clock. Sources: L2 size and boost clock from the GPU's data
 * sheet or architecture whitepaper; lanes from "Throughput of Native Arithmetic Instructions" in
 * the CUDA programming guide; tensor rates from the dense peaks of the whitepapers and data sheets,
 * divided by multiprocessors and the clock of those peaks. That clock is 1830 MHz on Hopper, whose
 * boost clock is 1980 MHz; so the peaks here exceed those of its data sheet.
 *
 * @param clock the boost clock, in cycles per second
 * @param l2Bytes the size of the level 2 cache
 * @param l2BytesPerCycle the bandwidth of the level 2 cache for all multiprocessors together. An
 *     estimate, except for the A100, whose whitepaper says 5120: 64 bytes per slice, with the
 *     number of slices that fits the size
 * @param f32 results of add, mul or fma per cycle and multiprocessor
 * @param f16 the same for 16-bit elements; a packed instruction has two
 * @param f64 the same for f64
 * @param integer results of 32-bit add, compare or logic
 * @param special results of the special functions (rcp, ex2, sin and such)
 * @param tensor floating-point (or integer) operations of the tensor cores per cycle and
 *     multiprocessor, where a multiply-add counts as two; missing types are not supported
 * @param mma the same for {@code mma.sync}, for types where it is slower than {@code tensor}
 */
public record Ceilings(
    double clock,
    Dram dram,
    long l2Bytes,
    double l2BytesPerCycle,
    int f32,
    int f16,
    int f64,
    int integer,
    int special,
    Map<Tensor, Integer> tensor,
    Map<Tensor, Integer> mma) {

  /** Instructions that the four schedulers of a multiprocessor issue per cycle. */
  public static final int ISSUES = 4;

  /** Wavefronts of shared memory per cycle and multiprocessor, each 32 banks of 4 bytes. */
  public static final int WAVEFRONTS = 1;

  /** The element types of tensor cores, with the accumulator type if the rate depends on it. */
  public enum Tensor {
    F16,
    /** f16 products summed in f16. */
    F16_IN_F16,
    BF16,
    TF32,
    FP8,
    INT8,
    F64
  }

  /**
   * Device memory.
   *
   * @param peak bytes per second on the data sheet
   * @param sustained bytes per second that a copy reaches, read and written bytes together
   * @param measured whether {@code sustained} was measured; otherwise it is assumed
   * @param latency seconds from a load to its data while memory is busy; assumed
   */
  public record Dram(double peak, double sustained, boolean measured, double latency) {

    /** The share of the data sheet's bandwidth that a copy is assumed to reach. */
    private static final double SUSTAINED_SHARE = 0.9;

    /** An assumed latency: the low end of the 600 to 800 ns that are reported for HBM. */
    private static final double LATENCY = 600e-9;

    /** Returns memory with an assumed copy bandwidth. */
    static Dram assumed(double peak) {
      return new Dram(peak, SUSTAINED_SHARE * peak, false, LATENCY);
    }

    /** Returns memory with a measured copy bandwidth. */
    static Dram measured(double peak, double copy) {
      return new Dram(peak, copy, true, LATENCY);
    }
  }

  public Ceilings {
    tensor = Map.copyOf(tensor);
    mma = Map.copyOf(mma);
  }

  /**
   * Returns a type's peak, in operations per second of a number of multiprocessors; 0 if tensor
   * cores do not support the type.
   */
  public double tensorRate(Tensor type, int multiprocessors) {
    return tensor.getOrDefault(type, 0) * clock * multiprocessors;
  }

  /** Returns the part of {@link #tensorRate} that {@code mma.sync} reaches. */
  public double mmaRate(Tensor type, int multiprocessors) {
    return mma.getOrDefault(type, tensor.getOrDefault(type, 0)) * clock * multiprocessors;
  }
}
