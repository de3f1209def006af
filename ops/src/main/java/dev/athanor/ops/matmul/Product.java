package dev.athanor.ops.matmul;

import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;

/**
 * What a kernel computes, however it does: {@code activation(alpha · a·b + bias)}.
 *
 * @param dtype of a, b and bias
 * @param outDType of c
 * @param bias whether there is one
 */
record Product(
    DType dtype,
    DType outDType,
    boolean transposeA,
    boolean transposeB,
    boolean bias,
    Activation activation) {

  static Product of(MatmulProblem problem) {
    return new Product(
        problem.dtype(),
        problem.outDType(),
        problem.transposeA(),
        problem.transposeB(),
        problem.bias(),
        problem.activation());
  }

  Type type() {
    return Epilogue.type(dtype);
  }

  Type outType() {
    return Epilogue.type(outDType);
  }

  /** What sums, alpha and the activation are computed in: f64 for f64, f32 for the others. */
  Type sumType() {
    return dtype == DType.F64 ? Type.F64 : Type.F32;
  }

  /** Writes what becomes of a sum before it is stored. */
  Real finish(Real sum, Real alpha, Real biasOfColumn) {
    return activation.apply(bias ? sum.fma(alpha, biasOfColumn) : sum.times(alpha));
  }

  /** The name of a kernel, for instance {@code matmul_f32_64x64x16_nt_bias_relu}. */
  String name(String op, String how) {
    var name = new StringBuilder(op).append('_').append(dtype.text());
    if (outDType != dtype) {
      name.append('_').append(outDType.text());
    }
    name.append('_').append(how);
    if (bias) {
      name.append("_bias");
    }
    if (activation != Activation.NONE) {
      name.append('_').append(activation.text().replace('-', '_'));
    }
    return name.toString();
  }

  /** The transposes of a and b in a name: {@code nt}. */
  String transposes() {
    return (transposeA ? "t" : "n") + (transposeB ? "t" : "n");
  }
}
