package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The product of two matrices, with bias and activation. */
public final class Matmul implements SampledOp {

  private static final Set<DType> DTYPES =
      Set.of(DType.F64, DType.F32, DType.F16, DType.BF16, DType.E4M3, DType.E5M2);

  /** The relative tolerance of a product with factors rounded to tf32. */
  static final double TF32_TOLERANCE = 1e-3;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul",
          "Computes a matrix product, adds a bias and applies an activation function, in"
              + " one kernel.",
          List.of(
              ProductDescription.left(DTYPES),
              ProductDescription.right(DTYPES, "; leading dimensions broadcast"),
              new Input(
                  "bias",
                  "[N]",
                  ProductDescription.NUMBERS,
                  true,
                  "the bias, added to each row; same dtype as a, or as c for 8-bit a, or"
                      + " f32 unless a is f64")),
          List.of(
              ProductDescription.transposeA("a is", "[…, K, M]"),
              ProductDescription.transposeB("b is"),
              Attribute.number(
                  "alpha",
                  1,
                  "scale factor applied to the product, rounded to f32 unless a is f64"),
              Attribute.choice(
                  "activation",
                  "none",
                  Activation.names(Activation.EPILOGUES),
                  "activation function, applied after the bias"),
              ProductDescription.outDType("c", ", or f32 for 8-bit a"),
              ProductDescription.precision()),
          List.of(Output.of("c", "[…, M, N]", "outDtype", "the result")),
          "c = activation(alpha · a·b + bias), "
              + ProductDescription.SUMS
              + "; a and b have the same dtype, but e4m3 and e5m2 may be mixed",
          "2·M·N·K per product");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  /** Returns the problem of a call. */
  static MatmulProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    return MatmulProblem.of(DESCRIPTION, inputs, attributes);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("c", problem(inputs, attributes).output());
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return MatmulPlanner.plans(problem(inputs, attributes), capability);
  }

  /**
   * Returns a: runs with the same right matrix are batched along the rows of a single product, or
   * along the products.
   */
  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    int rank = rank(inputs, "a");
    boolean rows = rank > 2 || (rank == 2 && !attributes.flag("transposeA"));
    return rows && rank(inputs, "b") == 2
        ? Optional.of(new Rows(Set.of("a"), !attributes.flag("transposeA")))
        : Optional.empty();
  }

  private static int rank(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name).shape().rank();
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    return Map.of("c", MatmulReference.product(inputs, attributes));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return tolerance(problem(inputs, attributes), dtype);
  }

  /**
   * Returns the tolerance of a product.
   *
   * @param dtype of c
   */
  static Tolerance tolerance(MatmulProblem problem, DType dtype) {
    double limit =
        problem.tf32()
            ? TF32_TOLERANCE
            : ProductDescription.tolerance(problem.dtype(), problem.k()).limit();
    boolean narrower = dtype.bytes() < 4 && dtype != problem.dtype();
    return Tolerance.relative(narrower ? Math.max(limit, Tolerance.usual(dtype).limit()) : limit);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return MatmulCases.of(random, quick);
  }
}
