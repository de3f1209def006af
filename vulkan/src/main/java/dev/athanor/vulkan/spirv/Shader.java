package dev.athanor.vulkan.spirv;

import java.nio.ByteBuffer;

/**
 * A kernel as a compute shader for one shape of blocks. Its only input are push constants: the
 * address of the kernel's arguments in device memory, at their offsets of PTX's parameter space;
 * the number of blocks of the grid along x, and the first of those that a dispatch executes.
 *
 * @param code a SPIR-V 1.6 module with the entry point {@code main}, in the byte order of the host
 * @param sharedBytes size of the shared memory of a block, including what exchanges between lanes
 *     need
 * @param sharedLanes whether lanes exchange values through shared memory, not within a subgroup of
 *     32
 */
public record Shader(ByteBuffer code, int sharedBytes, boolean sharedLanes) {

  /** Size of the push constants in bytes. */
  public static final int PUSHED_BYTES = 16;

  /** Offset of the arguments' address, of 64 bits. */
  public static final int PARAMETERS = 0;

  /** Offset of the number of blocks along x, of 32 bits. */
  public static final int BLOCKS = 8;

  /** Offset of the number of the first block, of 32 bits. */
  public static final int FIRST_BLOCK = 12;
}
