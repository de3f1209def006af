package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Type;

/**
 * A product of cooperative matrices of f16 that a device has, with f16 or f32 sums.
 *
 * @param addend type of the matrix that is added
 * @param sum type of the result
 */
public record CooperativeProduct(MatrixShape shape, Type addend, Type sum) {

  /** The product that planners know. */
  static final CooperativeProduct USUAL =
      new CooperativeProduct(new MatrixShape(16, 16, 16), Type.F32, Type.F32);
}
