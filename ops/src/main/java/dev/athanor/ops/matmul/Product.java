package dev.athanor.ops.matmul;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;

/**
 * What a kernel without tensor cores computes, however it does.
 *
 * @param dtype of a and b
 */
record Product(DType dtype, boolean transposeA, boolean transposeB, Epilogue epilogue) {

  static Product of(MatmulProblem problem) {
    return new Product(
        problem.dtype(), problem.transposeA(), problem.transposeB(), problem.epilogue());
  }

  Type type() {
    return Epilogue.type(dtype);
  }

  Type outType() {
    return Epilogue.type(epilogue.out());
  }

  /** What sums are computed in. */
  Type sumType() {
    return epilogue.sum();
  }

  /** The name of a kernel, for instance {@code matmul_f32_64x64x16_nt_bias_relu}. */
  String name(String op, String how) {
    var out = epilogue.out() == dtype ? "" : "_" + epilogue.out().text();
    return op + "_" + dtype.text() + out + "_" + how + epilogue.ending();
  }

  /** The transposes of a and b in a name: {@code nt}. */
  String transposes() {
    return (transposeA ? "t" : "n") + (transposeB ? "t" : "n");
  }
}
