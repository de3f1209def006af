package dev.athanor.ops.linear;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.Tolerance;
import java.util.List;
import java.util.Set;

/** The common parts of the descriptions of matrix products. */
public final class ProductDescription {

  /** The dtypes that every product supports, also as a bias; 8-bit types are excluded. */
  public static final Set<DType> NUMBERS = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  /** The types of the accumulators, in words. */
  public static final String SUMS = "accumulated in f32, or in f64 for f64 inputs";

  private ProductDescription() {}

  public static Input left(Set<DType> dtypes) {
    return new Input(
        "a", "[…a, M, K] or […a, K, M] with transposeA", dtypes, false, "the left factor");
  }

  /** Returns the input of the right matrices; {@code number} is appended to its meaning. */
  public static Input right(Set<DType> dtypes, String number) {
    return new Input(
        "b",
        "[…b, K, N] or […b, N, K] with transposeB",
        dtypes,
        false,
        "the right factor" + number);
  }

  /**
   * Returns the flag for a left matrix that is stored transposed; {@code what} is, for example, "a
   * is".
   */
  public static Attribute transposeA(String what, String shape) {
    return Attribute.flag("transposeA", "whether " + what + " stored as " + shape);
  }

  public static Attribute transposeB(String what) {
    return Attribute.flag("transposeB", "whether " + what + " stored as […, N, K]");
  }

  /** Returns the input of the bias of a projection, whose dtype is that of {@code left} or f32. */
  public static Input bias(String name, String shape, Set<DType> dtypes, String left) {
    return new Input(
        name,
        shape,
        dtypes,
        true,
        "the bias, added to each row; same dtype as " + left + ", or f32");
  }

  public static Attribute precision() {
    return Attribute.choice(
        "precision",
        "ieee",
        List.of("ieee", "tf32"),
        "precision of f32 factors. ieee: full f32. tf32: rounded to 11 significant bits, for"
            + " tensor cores");
  }

  /**
   * Returns the attribute for the dtype of {@code product}; {@code otherwise} completes its
   * default.
   */
  public static Attribute outDType(String product, String otherwise) {
    return Attribute.choice(
        "outDtype",
        "",
        List.of("f64", "f32", "f16", "bf16"),
        "dtype of %s; default that of a%s. Products of f64 and f32 support only their own dtype"
            .formatted(product, otherwise));
  }

  /**
   * Returns the tolerance of a product relative to its float64 reference.
   *
   * @param dtype of the factors
   * @param k the depth of the product
   */
  public static Tolerance tolerance(DType dtype, int k) {
    return new Tolerance(
        Tolerance.Metric.RELATIVE,
        switch (dtype) {
          case F64 -> 2e-15 * Math.sqrt(k);
          case F32 -> 1e-6 * Math.sqrt(k);
          case F16 -> 2e-3;
          case BF16 -> 1e-2;
          // products are exact; tensor cores add 32 of them in as few as 13 bits, the rest in f32
          case E4M3, E5M2 -> 1e-3;
          default -> throw new IllegalArgumentException(dtype.text());
        });
  }
}
