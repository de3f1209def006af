package dev.athanor.ops.linear.gemv;

import dev.athanor.ops.DType;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.tile.Operand;
import java.util.Set;

/**
 * Products of matrices and vectors: matrix products with one column, or with one row, in which case
 * the matrix is the right factor.
 *
 * @param product has the matrix as a; if it is transposed, adjacent elements belong to different
 *     outputs, else to the same
 * @param batch with the matrix as a and the vector as b
 * @param outputs number of outputs of a product
 * @param depth the length of x
 * @param columnStep column stride of the matrix product between outputs: 0 or 1
 * @param names of the tensors in the op's description
 */
public record GemvProblem(
    Product product,
    Batch batch,
    int outputs,
    int depth,
    int columnStep,
    double alpha,
    Names names) {

  /** The names of the tensors. */
  record Names(String matrix, String vector, String out) {}

  /** The dtypes of FMA kernels; only tensor cores multiply 8-bit numbers. */
  private static final Set<DType> KINDS = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  /** Returns whether a matrix product has one row or one column. */
  public static boolean fits(MatmulProblem problem) {
    return (problem.m() == 1 || problem.n() == 1) && KINDS.contains(problem.dtype());
  }

  /** Returns the problem of a matrix product with one row or one column. */
  public static GemvProblem of(MatmulProblem problem) {
    boolean column = problem.n() == 1;
    int outputs = column ? problem.m() : problem.n();
    boolean apart = column ? problem.transposeA() : !problem.transposeB();
    return new GemvProblem(
        // a single output is a row in either layout
        new Product(problem.dtype(), apart && outputs > 1, false, problem.epilogue()),
        column ? problem.batch() : problem.batch().swapped(),
        outputs,
        problem.k(),
        column ? 0 : 1,
        problem.alpha(),
        column ? new Names("a", "b", "c") : new Names("b", "a", "c"));
  }

  /** Returns the row stride of the matrix as stored, in elements. */
  int leadingDimension() {
    return product.transposeA() ? outputs : depth;
  }

  /** Returns the number of columns of the matrix product. */
  int columns() {
    return columnStep == 0 ? 1 : outputs;
  }

  /** Returns the widest access to the matrix in bytes. */
  int access() {
    return Operand.access(leadingDimension(), product.dtype());
  }
}
