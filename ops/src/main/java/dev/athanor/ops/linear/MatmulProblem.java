package dev.athanor.ops.linear;

import dev.athanor.ops.Activation;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Operand;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A matrix product with validated shapes: {@code c = activation(alpha · a·b + bias)}.
 *
 * @param dtype of a
 * @param dtypeB of b; differs from that of a only for 8-bit types
 * @param tf32 whether f32 may be rounded to tf32
 * @param alpha rounded to f32 unless the dtype is f64
 * @param groups of rows with right matrices of their own; {@code batch} and {@code m} then estimate
 *     that all have as many rows
 */
public record MatmulProblem(
    DType dtype,
    DType dtypeB,
    Batch batch,
    int m,
    int n,
    int k,
    boolean transposeA,
    boolean transposeB,
    boolean tf32,
    Epilogue epilogue,
    double alpha,
    Optional<Groups> groups) {

  /** The maximum extent; the margin allows tiles to exceed it. */
  private static final int MAX_EXTENT = Integer.MAX_VALUE - 1024;

  /**
   * Returns the problem of a call.
   *
   * @param op the description of an op with the inputs a and b and the attributes of matmul
   * @throws OpException if the inputs or attributes do not fit together
   */
  public static MatmulProblem of(
      OpDescription op, Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(op, inputs, attributes);
    var a = call.type("a");
    var b = call.type("b");
    boolean transposeA = attributes.flag("transposeA");
    boolean transposeB = attributes.flag("transposeB");
    int m = extent("a", a, transposeA ? -1 : -2);
    int k = extent("a", a, transposeA ? -2 : -1);
    int n = extent("b", b, transposeB ? -2 : -1);
    var epilogue = epilogue(Epilogue.Scale.ALPHA, inputs, attributes);
    return new MatmulProblem(
        a.dtype(),
        b.dtype(),
        Batch.of(a.shape().leading(2), b.shape().leading(2)),
        m,
        n,
        k,
        transposeA,
        transposeB,
        isTf32(a.dtype(), attributes),
        epilogue,
        a.dtype() == DType.F64 ? attributes.number("alpha") : Checks.single(attributes, "alpha"),
        Optional.empty());
  }

  /**
   * Returns the problem of a call whose left matrix has groups of rows.
   *
   * @param op the description of an op with the inputs a, b and sizes
   * @throws OpException if the inputs or attributes do not fit together
   */
  public static MatmulProblem ofGroups(
      OpDescription op, Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(op, inputs, attributes);
    var a = call.type("a");
    var b = call.type("b");
    boolean transposeB = attributes.flag("transposeB");
    int rows = extent("a", a, 0);
    long count = call.extent("E");
    if (rows > Groups.MOST_ROWS || count > Groups.MOST) {
      throw new OpException.TooLarge(
          "a",
          "a product of %d rows in %d groups is too large; the maximum is %d rows in %d groups"
              .formatted(rows, count, Groups.MOST_ROWS, Groups.MOST));
    }
    var groups = new Groups((int) count, rows);
    return new MatmulProblem(
        a.dtype(),
        b.dtype(),
        Batch.of(Shape.of(groups.occupied()), Shape.of(groups.occupied())),
        groups.rowsOfOne(),
        extent("b", b, transposeB ? 1 : 2),
        extent("a", a, 1),
        false,
        transposeB,
        isTf32(a.dtype(), attributes),
        epilogue(Epilogue.Scale.NONE, inputs, attributes),
        1,
        Optional.of(groups));
  }

  /**
   * Returns the scale that the inputs {@code scale}, {@code aScale} and {@code bScale} give.
   *
   * @throws OpException.ShapeMismatch if they exclude or lack each other
   */
  public static Epilogue.Scale scale(BoundInputs call) {
    boolean tensor = call.has("scale");
    boolean rows = call.has("aScale");
    boolean columns = call.has("bScale");
    if (rows != columns || (tensor && rows)) {
      throw new OpException.ShapeMismatch(
          tensor ? "scale" : rows ? "bScale" : "aScale",
          "either scale alone or both aScale and bScale must be given, got "
              + List.of("scale", "aScale", "bScale").stream().filter(call::has).toList());
    }
    return tensor
        ? Epilogue.Scale.TENSOR
        : rows ? Epilogue.Scale.ROWS_AND_COLUMNS : Epilogue.Scale.NONE;
  }

  private static Epilogue epilogue(
      Epilogue.Scale scale, Map<String, TensorType> inputs, Attributes attributes) {
    var a = Objects.requireNonNull(inputs.get("a")).dtype();
    var b = Objects.requireNonNull(inputs.get("b")).dtype();
    var bias = Optional.ofNullable(inputs.get("bias")).map(TensorType::dtype);
    if (!(isFp8(a) && isFp8(b))) {
      requireSame("a", a, "b", b, "b");
    }
    var out = outDType(a, attributes.choice("outDtype"));
    bias.ifPresent(given -> requireBias(given, isFp8(a) ? "c" : "a", isFp8(a) ? out : a));
    var activation = Activation.of(attributes.choice("activation"));
    if (a == DType.F64 && activation != Activation.NONE && activation != Activation.RELU) {
      throw new OpException.UnsupportedDType(
          "activation",
          "activation %s is not supported for f64; use none or relu".formatted(activation.text()));
    }
    return new Epilogue(scale, bias, activation, out);
  }

  private static boolean isTf32(DType dtype, Attributes attributes) {
    boolean tf32 = attributes.choice("precision").equals("tf32");
    if (tf32 && dtype != DType.F32) {
      throw new OpException.UnsupportedDType(
          "precision", "precision tf32 requires f32 inputs, got %s".formatted(dtype.text()));
    }
    return tf32;
  }

  /**
   * Checks that a bias is f32, or of the dtype of the tensor {@code like}; it must be of that dtype
   * if that is f64.
   */
  public static void requireBias(DType given, String like, DType expected) {
    boolean mayBeSingle = expected != DType.F64 && expected != DType.F32;
    if (given != expected && !(mayBeSingle && given == DType.F32)) {
      throw new OpException.UnsupportedDType(
          "bias",
          "bias is %s but %s is %s; %s"
              .formatted(
                  given.text(),
                  like,
                  expected.text(),
                  mayBeSingle ? "it must be that or f32" : "they must be the same"));
    }
  }

  private static boolean isFp8(DType dtype) {
    return dtype == DType.E4M3 || dtype == DType.E5M2;
  }

  public static DType outDType(DType dtype, String asked) {
    if (asked.isEmpty()) {
      return isFp8(dtype) ? DType.F32 : dtype;
    }
    var out = DType.of(asked).orElseThrow(() -> new IllegalArgumentException("no dtype " + asked));
    if (out != dtype && (dtype.bytes() > 2 || out == DType.F64)) {
      throw new OpException.UnsupportedDType(
          "outDtype",
          "outDtype of a product of %s must be %s, got %s"
              .formatted(
                  dtype.text(), dtype.bytes() > 2 ? dtype.text() : "f16, bf16 or f32", asked));
    }
    return out;
  }

  /**
   * Checks that the dtypes of two tensors are equal; the exception names {@code wrong}, one of the
   * two.
   */
  public static void requireSame(
      String first, DType one, String second, DType other, String wrong) {
    if (one != other) {
      throw new OpException.UnsupportedDType(
          wrong,
          "%s is %s but %s is %s; they must be the same"
              .formatted(first, one.text(), second, other.text()));
    }
  }

  public static int extent(String name, TensorType tensor, int index) {
    long extent = tensor.shape().extent(index);
    if (extent > MAX_EXTENT) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s; the maximum extent is 2^31 - 1025"
              .formatted(name, tensor.shape()));
    }
    return (int) extent;
  }

  /**
   * Merges consecutive products with the same right matrix into one product of the concatenated
   * rows. Returns other problems unchanged.
   */
  public MatmulProblem withRowsTogether() {
    var inner = batch.inner();
    long rows = Math.multiplyExact(inner.count(), (long) m);
    boolean together =
        inner.count() > 1
            && inner.strideA() == 1
            && inner.strideB() == 0
            && !transposeA
            && rows <= MAX_EXTENT;
    return together
        ? new MatmulProblem(
            dtype,
            dtypeB,
            batch.withoutInner(),
            (int) rows,
            n,
            k,
            false,
            transposeB,
            tf32,
            epilogue,
            alpha,
            groups)
        : this;
  }

  /** Returns the row stride of a as stored, in elements. */
  public int leadingDimensionA() {
    return transposeA ? m : k;
  }

  public int leadingDimensionB() {
    return transposeB ? k : n;
  }

  public Operand a() {
    return Operand.of(dtype, transposeA, leadingDimensionA());
  }

  public Operand b() {
    return Operand.of(dtypeB, transposeB, leadingDimensionB());
  }

  /** Returns whether tensor cores multiply the dtype with the requested precision. */
  public boolean onTensorCores() {
    return switch (dtype) {
      case F16, BF16, E4M3, E5M2, I8 -> true;
      case F32 -> tf32;
      default -> false;
    };
  }

  /** Returns whether the factors have {@link BlockScales}. */
  public boolean scaled() {
    return epilogue.scale() == Epilogue.Scale.BLOCKS;
  }

  /** Returns the arguments of {@link BlockScales}, or none. */
  public Arguments scales() {
    return scaled() ? BlockScales.arguments() : Arguments.NONE;
  }

  public DType outDType() {
    return epilogue.out();
  }

  public Activation activation() {
    return epilogue.activation();
  }

  public TensorType output() {
    return groups
        .map(all -> TensorType.of(outDType(), all.rows(), n))
        .orElseGet(() -> new TensorType(outDType(), batch.shape().with(m, n)));
  }

  /** Returns the cost; broadcast matrices are read once. */
  public Plan.Cost cost() {
    double products = batch.products();
    double read =
        (double) batch.matricesOfA() * m * k * dtype.bytes()
            + (double) batch.matricesOfB() * k * n * dtypeB.bytes()
            + epilogue.bias().map(bias -> n * (double) bias.bytes()).orElse(0.0);
    return new Plan.Cost(2 * products * m * n * k, read + products * m * n * outDType().bytes());
  }
}
