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
 */
public record Multiprocessor(int warps, int blocks, int registers, int sharedBytes) {

  /** Shared memory that the system reserves in each block. */
  public static final int RESERVED_SHARED_BYTES = 1 << 10;

  private Multiprocessor(int warps, int blocks, int sharedKilobytes) {
    this(warps, blocks, 1 << 16, sharedKilobytes << 10);
  }

  /** Returns the multiprocessor of a target; for a target without a row, that of Hopper. */
  public static Multiprocessor of(Target target) {
    return switch (target.sm()) {
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
    return sharedBytes - RESERVED_SHARED_BYTES;
  }
}
