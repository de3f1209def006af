package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Target;

/**
 * What a multiprocessor holds. Source: the table of technical specifications by compute capability
 * in the CUDA programming guide.
 *
 * @param warps maximum number of resident warps
 * @param blocks maximum number of resident blocks
 * @param registers number of 32-bit registers
 * @param sharedBytes shared memory
 * @param reservedSharedBytes shared memory that the system reserves in each block
 */
public record Multiprocessor(
    int warps, int blocks, int registers, int sharedBytes, int reservedSharedBytes) {

  private Multiprocessor(int warps, int blocks, int sharedKilobytes) {
    this(warps, blocks, 1 << 16, sharedKilobytes << 10, 1 << 10);
  }

  private static Multiprocessor beforeAmpere(int warps, int blocks, int sharedKilobytes) {
    return new Multiprocessor(warps, blocks, 1 << 16, sharedKilobytes << 10, 0);
  }

  /** Returns the multiprocessor of a target; for a target without a row, that of Hopper. */
  public static Multiprocessor of(Target target) {
    return switch (target.sm()) {
      case 70, 72 -> beforeAmpere(64, 32, 96);
      case 75 -> beforeAmpere(32, 16, 64);
      case 80 -> new Multiprocessor(64, 32, 164);
      case 86 -> new Multiprocessor(48, 16, 100);
      case 87 -> new Multiprocessor(48, 16, 164);
      case 89, 120, 121 -> new Multiprocessor(48, 24, 100);
      case 110 -> new Multiprocessor(48, 24, 228);
      default -> new Multiprocessor(64, 32, 228);
    };
  }

  /** Returns the maximum shared memory of a block, static and dynamic. */
  public int sharedBytesPerBlock() {
    return sharedBytes - reservedSharedBytes;
  }
}
