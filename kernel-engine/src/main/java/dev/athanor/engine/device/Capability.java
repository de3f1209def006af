package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The properties of a device that planners need.
 *
 * @param id kind and index: {@code emulator:0}, {@code cuda:0}
 * @param name the vendor's name
 * @param target the newest target that it runs
 * @param driver the driver's version, or the emulator's
 * @param multiprocessors number of multiprocessors
 * @param maxThreadsPerBlock maximum number of threads of a block
 * @param sharedBytesPerBlock shared memory of a block without opt-in
 * @param sharedBytesPerBlockOptIn maximum shared memory of a block with opt-in
 * @param memoryBytes size of the device's memory
 * @param features what kernels may use
 */
public record Capability(
    String id,
    String name,
    Target target,
    String driver,
    int multiprocessors,
    int maxThreadsPerBlock,
    int sharedBytesPerBlock,
    int sharedBytesPerBlockOptIn,
    long memoryBytes,
    Features features) {

  /**
   * What kernels may use that not every device has.
   *
   * @param float64 whether it computes in f64
   * @param atomics64 whether it has atomic operations on 64 bits of global memory
   * @param opaqueProducts whether it has {@code wmma} products of f16, 16 by 16 by 16, with f32
   *     sums
   * @param exchangeBytes shared memory, per thread of a block and once more for the block, through
   *     which lanes exchange values if the device cannot exchange them within a warp; else 0
   * @param subnormals whether it keeps f32 numbers below 2^-126, which otherwise may become 0
   */
  public record Features(
      boolean float64,
      boolean atomics64,
      boolean opaqueProducts,
      int exchangeBytes,
      boolean subnormals) {

    /** The features of NVIDIA's GPUs and of the emulator. */
    public static final Features ALL = new Features(true, true, true, 0, true);

    /** Returns the shared memory that a block needs besides its kernel's. */
    public int exchangeBytes(long threads) {
      return Math.toIntExact(exchangeBytes * (Warps.SIZE * Math.ceilDiv(threads, Warps.SIZE) + 1));
    }

    /** Returns in a few words what a kernel uses that is not among the features. */
    public Optional<String> lacking(Supplier<Kernel> kernel) {
      return !float64 && kernel.get().computesIn(Type.F64)
          ? Optional.of("computations in f64")
          : !atomics64 && kernel.get().hasAtomics(64)
              ? Optional.of("atomic operations on 64 bits")
              : !opaqueProducts && kernel.get().hasOpaqueProducts()
                  ? Optional.of("wmma instructions")
                  : Optional.empty();
    }
  }

  /** Creates the capability of an NVIDIA GPU, or of an emulator. */
  public Capability(
      String id,
      String name,
      Target target,
      String driver,
      int multiprocessors,
      int maxThreadsPerBlock,
      int sharedBytesPerBlock,
      int sharedBytesPerBlockOptIn,
      long memoryBytes) {
    this(
        id,
        name,
        target,
        driver,
        multiprocessors,
        maxThreadsPerBlock,
        sharedBytesPerBlock,
        sharedBytesPerBlockOptIn,
        memoryBytes,
        Features.ALL);
  }

  /** The name of an emulator that does not stand for a certain GPU. */
  public static final String EMULATOR = "Athanor PTX emulator";

  /**
   * Returns whether the device is an emulator, whose time depends on other things than a GPU's.
   * Returns false for the capability of a GPU whose kernels an emulator runs, to profile them.
   */
  public boolean isEmulated() {
    return name.equals(EMULATOR);
  }
}
