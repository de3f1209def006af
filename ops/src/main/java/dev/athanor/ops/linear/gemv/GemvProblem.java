package dev.athanor.ops.linear.gemv;

import dev.athanor.ops.DType;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.tile.Operand;
import java.util.Set;

/**
 * Products of matrices and vectors: a matrix product of one column, or of one row, whose matrix is
 * then that on the right.
 *
 * @param product the matrix as a: where it is transposed, neighbours in memory belong to different
 *     outputs, else to one
 * @param batch of the matrix as a and the vector as b
 * @param outputs of a product
 * @param depth the length of x
 * @param columnStep columns of the matrix product from one output to the next: 0 or 1
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

  /** What the tensors are called. */
  record Names(String matrix, String vector, String out) {}

  /** What one multiply-add a lane computes: tensor cores alone multiply numbers of eight bits. */
  private static final Set<DType> KINDS = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  /** Returns whether a matrix product has one row or one column. */
  public static boolean fits(MatmulProblem problem) {
    return (problem.m() == 1 || problem.n() == 1) && KINDS.contains(problem.dtype());
  }

  /** Returns a matrix product of one row or one column. */
  public static GemvProblem of(MatmulProblem problem) {
    boolean column = problem.n() == 1;
    int outputs = column ? problem.m() : problem.n();
    boolean apart = column ? problem.transposeA() : !problem.transposeB();
    return new GemvProblem(
        // one output alone is a row, however it is stored
        new Product(problem.dtype(), apart && outputs > 1, false, problem.epilogue()),
        column ? problem.batch() : problem.batch().swapped(),
        outputs,
        problem.k(),
        column ? 0 : 1,
        problem.alpha(),
        column ? new Names("a", "b", "c") : new Names("b", "a", "c"));
  }

  /** Returns elements from one row of the matrix, as it is stored, to the next. */
  int leadingDimension() {
    return product.transposeA() ? outputs : depth;
  }

  /** Returns the columns of the matrix product. */
  int columns() {
    return columnStep == 0 ? 1 : outputs;
  }

  /** Returns the most bytes that one access to the matrix can move. */
  int access() {
    return Operand.access(leadingDimension(), product.dtype());
  }
}
