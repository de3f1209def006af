package dev.athanor.ops.matmul;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The product of two matrices, with bias and activation. */
public final class Matmul implements Op {

  /** What every product can multiply and add: a number of eight bits is no bias, for one. */
  static final Set<DType> NUMBERS = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  private static final Set<DType> DTYPES =
      Set.of(DType.F64, DType.F32, DType.F16, DType.BF16, DType.E4M3, DType.E5M2);

  /** What a product is summed in. */
  static final String SUMS = "sums in f32, those of f64 in f64";

  /** How far a product with factors rounded to tf32 may be off, relative to it. */
  static final double TF32_TOLERANCE = 1e-3;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul",
          "Multiplies matrices, adds a bias and applies an activation, in one kernel.",
          List.of(
              left(DTYPES),
              right(DTYPES, "; leading dimensions broadcast"),
              new Input(
                  "bias",
                  "[N]",
                  NUMBERS,
                  true,
                  "added to every row; of the dtype of a, or of c where a has numbers of eight bits")),
          List.of(
              transposeA("a is", "[…, K, M]"),
              transposeB("b is"),
              Attribute.number("alpha", 1, "factor of the product, rounded to f32 unless a is f64"),
              Attribute.choice(
                  "activation",
                  "none",
                  Activation.names(Activation.EPILOGUES),
                  "the function of the sum"),
              outDType("c", ", or f32 for numbers of eight bits"),
              Attribute.choice(
                  "precision",
                  "ieee",
                  List.of("ieee", "tf32"),
                  "ieee multiplies factors of f32 as they are. tf32 rounds them to 11 bits, for tensor"
                      + " cores")),
          List.of(Output.of("c", "[…, M, N]", "outDtype", "the product")),
          "c = activation(alpha · a·b + bias), with "
              + SUMS
              + "; b is e4m3 or e5m2 where a is one of them",
          "2·M·N·K a product");

  static Input left(Set<DType> dtypes) {
    return new Input("a", "[…, M, K]", dtypes, false, "the left matrices");
  }

  /** The right matrices, and how many they are. */
  static Input right(Set<DType> dtypes, String number) {
    return new Input("b", "[…, K, N]", dtypes, false, "the right matrices" + number);
  }

  /** Says that {@code what}, "a is" for instance, stored in another shape. */
  static Attribute transposeA(String what, String shape) {
    return Attribute.flag("transposeA", what + " stored as " + shape);
  }

  static Attribute transposeB(String what) {
    return Attribute.flag("transposeB", what + " stored as […, N, K]");
  }

  /** The dtype of a product called {@code product}, and what else it is when left out. */
  static Attribute outDType(String product, String otherwise) {
    return Attribute.choice(
        "outDtype",
        "",
        List.of("f64", "f32", "f16", "bf16"),
        "the dtype of %s; left out that of a%s; f64 and f32 give only themselves"
            .formatted(product, otherwise));
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return MatmulPlanner.plans(MatmulProblem.of(inputs, attributes), capability);
  }

  /** Of one product a's rows, of several the products, where all have the same right matrix. */
  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    int rank = rank(inputs, "a");
    boolean rows = rank > 2 || (rank == 2 && !attributes.flag("transposeA"));
    return rows && rank(inputs, "b") == 2 ? Optional.of(new Rows(Set.of("a"))) : Optional.empty();
  }

  private static int rank(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name).shape().rank();
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    return Map.of("c", MatmulReference.compute(inputs, attributes));
  }

  @Override
  public double[] reference(
      Map<String, HostTensor> inputs, Attributes attributes, String output, long[] elements) {
    return MatmulReference.compute(inputs, attributes, elements);
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    var problem = MatmulProblem.of(inputs, attributes);
    double limit =
        problem.tf32() ? TF32_TOLERANCE : tolerance(problem.dtype(), problem.k()).limit();
    boolean narrower = dtype.bytes() < 4 && dtype != problem.dtype();
    return Tolerance.relative(narrower ? Math.max(limit, Tolerance.usual(dtype).limit()) : limit);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return MatmulCases.of(random, quick);
  }

  /**
   * How far a product may be from its float64 reference.
   *
   * @param dtype of the factors
   * @param k the depth of the product
   */
  public static Tolerance tolerance(DType dtype, int k) {
    return new Tolerance(
        Tolerance.Metric.RELATIVE,
        switch (dtype) {
          case F64 -> 1e-15 * Math.sqrt(k);
          case F32 -> 1e-6 * Math.sqrt(k);
          case F16 -> 2e-3;
          case BF16 -> 1e-2;
          // exact products, 32 of which tensor cores add in as few as 13 bits; the rest is f32
          case E4M3, E5M2 -> 1e-3;
          default -> throw new IllegalArgumentException(dtype.text());
        });
  }
}
