package dev.athanor.vulkan.spirv;

import java.nio.ByteBuffer;

/**
 * A kernel as a compute shader for one shape of blocks. Its only input is a push constant of eight
 * bytes: the address of the kernel's arguments in device memory, at their offsets of PTX's
 * parameter space.
 *
 * @param code a SPIR-V 1.6 module with the entry point {@code main}, in the byte order of the host
 * @param sharedBytes size of the shared memory of a block, including what exchanges between lanes
 *     need
 * @param sharedLanes whether lanes exchange values through shared memory, not within a subgroup of
 *     32
 */
public record Shader(ByteBuffer code, int sharedBytes, boolean sharedLanes) {}
