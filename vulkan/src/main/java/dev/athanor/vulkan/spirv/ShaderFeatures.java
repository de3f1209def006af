package dev.athanor.vulkan.spirv;

import dev.athanor.engine.device.Capability;
import java.util.Set;

/**
 * What a Vulkan device supports beyond what this library requires of all: Vulkan 1.3 with physical
 * storage buffers, 64-bit integers, and 8-bit and 16-bit storage.
 *
 * @param subgroups whether a pipeline can require full subgroups of 32 with shuffles and votes;
 *     otherwise lanes exchange values through shared memory
 * @param int8 arithmetic on 8-bit integers
 * @param int16 arithmetic on 16-bit integers
 * @param float16 arithmetic on f16
 * @param float64 arithmetic on f64
 * @param int64Atomics atomic operations on 64-bit integers in device memory
 * @param explicitLayout blocks of shared memory with explicit layouts of 8-bit and 16-bit elements
 * @param fusedMultiplyAdd whether {@code Fma} rounds once, as on GPUs; CPU drivers may round twice,
 *     and the shader then computes the exact result
 * @param subnormals whether shaders can keep subnormal f32; otherwise they may become zero
 * @param products the products of cooperative matrices by subgroups; none without {@code subgroups}
 *     or {@code float16}
 * @param sharedBytes size of the shared memory of a block
 */
public record ShaderFeatures(
    boolean subgroups,
    boolean int8,
    boolean int16,
    boolean float16,
    boolean float64,
    boolean int64Atomics,
    boolean explicitLayout,
    boolean fusedMultiplyAdd,
    boolean subnormals,
    Set<CooperativeProduct> products,
    int sharedBytes) {
  public ShaderFeatures {
    products = Set.copyOf(products);
  }

  /** Returns the features for planners. */
  public Capability.Features capability() {
    return new Capability.Features(
        float64,
        int64Atomics,
        products.contains(CooperativeProduct.USUAL),
        subgroups ? 0 : Lanes.WORD,
        subnormals);
  }
}
