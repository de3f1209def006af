package dev.athanor.ops.linear;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.tile.Epilogue;

/**
 * The product computed by a kernel without tensor cores, independent of the algorithm.
 *
 * @param dtype of a
 * @param dtypeB of b
 * @param grouped whether the product has {@link Groups}
 * @param scaled whether the factors have {@code BlockScales}
 */
public record Product(
    DType dtype,
    DType dtypeB,
    boolean transposeA,
    boolean transposeB,
    Epilogue epilogue,
    boolean grouped,
    boolean scaled) {

  /** Returns a product of matrices of one dtype. */
  public Product(DType dtype, boolean transposeA, boolean transposeB, Epilogue epilogue) {
    this(dtype, dtype, transposeA, transposeB, epilogue, false, false);
  }

  public static Product of(MatmulProblem problem) {
    return new Product(
        problem.dtype(),
        problem.dtypeB(),
        problem.transposeA(),
        problem.transposeB(),
        problem.epilogue(),
        problem.groups().isPresent(),
        problem.scaled());
  }

  /** Returns the partial product over a share of K, whose sums another launch adds. */
  public Product ofShares() {
    return new Product(dtype, dtypeB, transposeA, transposeB, epilogue.ofShares(), grouped, scaled);
  }

  public Type type() {
    return Epilogue.type(dtype);
  }

  public Type typeB() {
    return Epilogue.type(dtypeB);
  }

  public Type outType() {
    return Epilogue.type(epilogue.out());
  }

  /** Returns the type of the accumulators. */
  public Type sumType() {
    return epilogue.sum();
  }

  /** Returns the name of a kernel, such as {@code matmul_f32_64x64x16_nt_bias_relu}. */
  public String name(String op, String how) {
    var out = epilogue.out() == dtype ? "" : "_" + epilogue.out().text();
    var factors = dtype.text() + (dtypeB == dtype ? "" : "_" + dtypeB.text());
    return (grouped ? "grouped_" : "")
        + op
        + "_"
        + factors
        + out
        + "_"
        + how
        + scales()
        + epilogue.ending();
  }

  /** Returns what the name of the epilogue of a share does not say. */
  private String scales() {
    return scaled && epilogue.scale() != Epilogue.Scale.BLOCKS ? "_blocks" : "";
  }

  /** Returns the letters of the transposes of a and b in names: {@code nt}. */
  public String transposes() {
    return (transposeA ? "t" : "n") + (transposeB ? "t" : "n");
  }
}
