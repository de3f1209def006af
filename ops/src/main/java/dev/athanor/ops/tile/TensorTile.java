package dev.athanor.ops.tile;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.cost.Machine;
import java.util.Locale;

/**
 * The tile of c that a block computes on tensor cores, stage by stage along K, and its division
 * among warps.
 *
 * @param m rows of c that a block computes
 * @param n columns of c that a block computes
 * @param k depth of a stage
 * @param warpM rows of c that a warp computes, a multiple of 16
 * @param warpN columns of c that a warp computes, a multiple of 16
 * @param stages number of stages in shared memory
 * @param instruction the instruction that multiplies
 */
public record TensorTile(
    int m, int n, int k, int warpM, int warpN, int stages, Instruction instruction) {

  private static final int WARP = 32;

  /** An instruction of tensor cores. It determines the layout of {@linkplain Stage stages}. */
  public enum Instruction {
    /** {@code mma.sync}: a warp multiplies fragments in registers. */
    MMA(""),
    /** {@code wgmma}: a warpgroup multiplies matrices in shared memory. */
    WGMMA("_groups"),
    /**
     * {@code wmma}: a warp multiplies matrices of 16x16 elements in registers, whose layout is
     * unspecified. For f16 on devices without the others.
     */
    WMMA("_wmma");

    private final String suffix;

    Instruction(String suffix) {
      this.suffix = suffix;
    }

    /**
     * Returns the instruction of a warp: {@code wmma} where the device replaces {@code mma.sync},
     * which targets before sm_75 lack for 16x8 results.
     *
     * @param factors the dtype of both factors
     */
    public static Instruction ofWarp(DType factors, Capability device) {
      boolean isOpaque =
          device.features().opaqueProducts() && !device.target().canRun(Target.SM_75);
      return factors == DType.F16 && isOpaque ? WMMA : MMA;
    }

    /**
     * Returns whether the device has {@code mma.sync} for 16-bit factors, f32 rounded to tf32, or
     * fp8 converted to f16. Otherwise exchanges between lanes and FMA instructions replace it,
     * which are slower than FMA instructions alone and many times the code.
     */
    public static boolean isNative(DType factors, Capability device) {
      return device.target().canRun(factors == DType.F16 ? Target.SM_75 : Target.SM_80);
    }

    /** Returns whether the device has the instruction {@link #ofWarp}, see {@link #isNative}. */
    public static boolean multiplies(DType factors, Capability device) {
      return ofWarp(factors, device) == WMMA || isNative(factors, device);
    }

    /** Returns the name in PTX. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Returns a tile whose warps multiply with {@code mma.sync}. */
  public TensorTile(int m, int n, int k, int warpM, int warpN, int stages) {
    this(m, n, k, warpM, warpN, stages, Instruction.MMA);
  }

  /**
   * Returns a tile of which each warpgroup multiplies 64 rows.
   *
   * @param m a multiple of 64
   */
  static TensorTile ofGroups(int m, int n, int k, int stages) {
    return new TensorTile(m, n, k, Stage.GROUP, n, stages, Instruction.WGMMA);
  }

  /** Returns this tile with other stages for another instruction of a warp. */
  public TensorTile with(Instruction other) {
    // with wmma, a stage is multiplied while registers hold the next
    int needed = other == Instruction.WMMA ? 2 : stages;
    return new TensorTile(m, n, k, warpM, warpN, needed, other);
  }

  /** Returns the cycles of multiply-adds on the tensor cores of a multiprocessor. */
  public double tensorCycles(Machine machine, double multiplyAdds, Type factors) {
    return instruction == Instruction.MMA
        ? machine.tensorCycles(multiplyAdds, factors)
        : machine.peakTensorCycles(multiplyAdds, factors);
  }

  public int warps() {
    return (m / warpM) * (n / warpN);
  }

  public int threads() {
    return WARP * warps();
  }

  @Override
  public String toString() {
    // part of kernel names, so independent of the locale
    return m + "x" + n + "x" + k + "x" + stages + instruction.suffix;
  }
}
