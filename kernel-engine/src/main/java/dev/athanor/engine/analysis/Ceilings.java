package dev.athanor.engine.analysis;

import java.util.Map;

/**
 * What a GPU does at most, at its boost clock. Sources: L2 size and boost clock from the GPU's data
 * sheet or architecture whitepaper; lanes from "Throughput of Native Arithmetic Instructions" in
 * the CUDA programming guide; tensor rates from the dense peaks of the whitepapers and data sheets,
 * divided by multiprocessors and the clock that those peaks are given for. That clock is 1830 MHz
 * on Hopper, which may run at 1980 MHz; so the peaks here are above the data sheet's there.
 *
 * @param clock the boost clock, cycles a second
 * @param l2Bytes the size of the level 2 cache
 * @param l2BytesPerCycle what level 2 gives all multiprocessors together. An estimate but for the
 *     A100, whose whitepaper says 5120: 64 bytes a slice, of as many slices as suit the size
 * @param f32 results of add, mul or fma a cycle and multiprocessor
 * @param f16 the same of 16-bit elements, of which a packed instruction has two
 * @param f64 the same of f64
 * @param integer results of 32-bit add, compare or logic
 * @param special results of the special functions (rcp, ex2, sin and such)
 * @param tensor floating-point (or integer) operations of the tensor cores a cycle and
 *     multiprocessor, a multiply-add counting two; types that are missing have no tensor core
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

  /** Instructions that the four schedulers of a multiprocessor issue in a cycle. */
  public static final int ISSUES = 4;

  /** Wavefronts of shared memory a cycle and multiprocessor, each 32 banks of 4 bytes. */
  public static final int WAVEFRONTS = 1;

  /** What tensor cores multiply, and where it matters what they add it to. */
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

    /** Memory of which only the data sheet is known. */
    static Dram assumed(double peak) {
      return new Dram(peak, SUSTAINED_SHARE * peak, false, LATENCY);
    }

    /** Memory whose copy bandwidth was measured. */
    static Dram measured(double peak, double copy) {
      return new Dram(peak, copy, true, LATENCY);
    }
  }

  public Ceilings {
    tensor = Map.copyOf(tensor);
    mma = Map.copyOf(mma);
  }

  /**
   * Returns the type's peak, in operations per second of some multiprocessors; 0 where there is no
   * such unit.
   */
  public double tensorRate(Tensor type, int multiprocessors) {
    return tensor.getOrDefault(type, 0) * clock * multiprocessors;
  }

  /** Returns what {@code mma.sync} reaches of {@link #tensorRate}. */
  public double mmaRate(Tensor type, int multiprocessors) {
    return mma.getOrDefault(type, tensor.getOrDefault(type, 0)) * clock * multiprocessors;
  }
}
