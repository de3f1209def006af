package dev.athanor.ops.linear;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.Tolerance;
import java.util.List;
import java.util.Set;

/** What the descriptions of matrix products have in common. */
public final class ProductDescription {

  /** What every product can multiply and add: a number of eight bits is no bias, for one. */
  public static final Set<DType> NUMBERS = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  /** What a product is summed in. */
  public static final String SUMS = "sums in f32, those of f64 in f64";

  private ProductDescription() {}

  public static Input left(Set<DType> dtypes) {
    return new Input("a", "[…, M, K]", dtypes, false, "the left matrices");
  }

  /** Returns the right matrices, and how many they are. */
  public static Input right(Set<DType> dtypes, String number) {
    return new Input("b", "[…, K, N]", dtypes, false, "the right matrices" + number);
  }

  /** Says that {@code what}, "a is" for instance, stored in another shape. */
  public static Attribute transposeA(String what, String shape) {
    return Attribute.flag("transposeA", what + " stored as " + shape);
  }

  public static Attribute transposeB(String what) {
    return Attribute.flag("transposeB", what + " stored as […, N, K]");
  }

  /** Returns the dtype of a product called {@code product}, and what else it is when left out. */
  public static Attribute outDType(String product, String otherwise) {
    return Attribute.choice(
        "outDtype",
        "",
        List.of("f64", "f32", "f16", "bf16"),
        "the dtype of %s; left out that of a%s; f64 and f32 give only themselves"
            .formatted(product, otherwise));
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
