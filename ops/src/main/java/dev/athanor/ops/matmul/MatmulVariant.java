package dev.athanor.ops.matmul;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;

/**
 * What a matmul kernel is built from. Sizes are no part of it: they are parameters of the kernel.
 *
 * @param accessA bytes that a copy of a may move at once: 2, 4, 8 or 16, as the alignment of its
 *     rows allows
 * @param accessB the same for b
 * @param pairs whether two neighbours in a row of c may be written at once
 */
record MatmulVariant(
    Tile tile,
    DType dtype,
    DType outDType,
    boolean transposeA,
    boolean transposeB,
    int accessA,
    int accessB,
    boolean pairs,
    boolean bias,
    Activation activation)
    implements Variant {

  /** The PTX type of the elements. */
  static Type type(DType dtype) {
    return switch (dtype) {
      case F64 -> Type.F64;
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      default -> throw new IllegalArgumentException("matmul does not compute " + dtype.text());
    };
  }

  @Override
  public Kernel build() {
    return MatmulKernels.build(this);
  }

  /** For instance {@code matmul_f16_64x64x32x3_nt_a16_b16_c2_bias_relu}. */
  @Override
  public String name() {
    var name = new StringBuilder("matmul_").append(dtype.text());
    if (outDType != dtype) {
      name.append('_').append(outDType.text());
    }
    name.append('_')
        .append(tile)
        .append('_')
        .append(transposeA ? 't' : 'n')
        .append(transposeB ? 't' : 'n');
    name.append("_a").append(accessA).append("_b").append(accessB).append(pairs ? "_c2" : "_c1");
    if (bias) {
      name.append("_bias");
    }
    if (activation != Activation.NONE) {
      name.append('_').append(activation.text().replace('-', '_'));
    }
    return name.toString();
  }
}
