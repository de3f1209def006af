package dev.athanor.ops.map;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import java.util.Arrays;
import java.util.List;

/**
 * The treatment of numbers that the target dtype of a cast cannot represent.
 *
 * @param fraction how a float is rounded to an integer
 * @param saturate whether numbers beyond the greatest finite number become that number. Otherwise
 *     they become an infinity, or a NaN in e4m3, which has no infinity. Integers always saturate.
 */
public record Conversion(Fraction fraction, boolean saturate) {

  private static final String ROUND = "round";
  private static final String SATURATE = "saturate";

  /** The direction in which a float is rounded to an integer. */
  enum Fraction {
    TRUNCATE("truncate", "rzi"),
    NEAREST_EVEN("nearest-even", "rni"),
    FLOOR("floor", "rmi"),
    CEIL("ceil", "rpi");

    private final String text;
    private final String modifier;

    Fraction(String text, String modifier) {
      this.text = text;
      this.modifier = modifier;
    }

    /** Returns the rounding modifier of {@code cvt}. */
    String modifier() {
      return modifier;
    }

    /** Rounds a number to an integer. */
    double apply(double value) {
      return switch (this) {
        case TRUNCATE -> value < 0 ? Math.ceil(value) : Math.floor(value);
        case NEAREST_EVEN -> Math.rint(value);
        case FLOOR -> Math.floor(value);
        case CEIL -> Math.ceil(value);
      };
    }
  }

  /** Returns the conversion of a cast without attributes. */
  public static Conversion usual(DType to) {
    return new Conversion(Fraction.TRUNCATE, !to.isFloat() || to == DType.E4M3);
  }

  /** Returns the attributes of {@link #of}. */
  static List<Attribute> attributes() {
    return List.of(
        Attribute.choice(
            ROUND,
            Fraction.TRUNCATE.text,
            Arrays.stream(Fraction.values()).map(fraction -> fraction.text).toList(),
            "rounding mode of casts from float to integer; other casts ignore it. truncate"
                + " discards the fraction, as NumPy, PyTorch and ONNX do"),
        Attribute.flag(
                SATURATE,
                "whether values that overflow a float dtype, including infinities, become its"
                    + " largest finite value of the same sign. If false, they become infinity, or NaN"
                    + " in e4m3, which has no infinity. Default: true for e4m3, false for other float"
                    + " dtypes; ONNX also saturates e5m2 by default. Casts to integers always"
                    + " saturate: the default is true, and false is rejected. Casts to bool ignore it")
            .withoutDefault());
  }

  /**
   * Reads the attributes of a cast. Where the rounding makes no difference, it becomes truncation,
   * so that equal kernels have equal names.
   *
   * @throws OpException.InvalidAttribute if {@code saturate} is false for an integer dtype
   */
  static Conversion of(Attributes attributes, DType from, DType to) {
    var usual = usual(to);
    boolean saturate = attributes.has(SATURATE) ? attributes.flag(SATURATE) : usual.saturate;
    if (!to.isFloat() && to != DType.BOOL && !saturate) {
      throw new OpException.InvalidAttribute(
          SATURATE,
          "attribute \"saturate\" is false, but a cast to %s always saturates; omit it"
              .formatted(to.text()));
    }
    boolean rounds = from.isFloat() && !to.isFloat() && to != DType.BOOL;
    return new Conversion(
        rounds ? fraction(attributes.choice(ROUND)) : Fraction.TRUNCATE,
        to == DType.BOOL ? usual.saturate : saturate);
  }

  private static Fraction fraction(String text) {
    return Arrays.stream(Fraction.values())
        .filter(fraction -> fraction.text.equals(text))
        .findFirst()
        .orElseThrow();
  }

  /** Returns the suffix of a kernel's name; empty for the default conversion. */
  String suffix(DType to) {
    var rounding = fraction == Fraction.TRUNCATE ? "" : "_" + fraction.text.replace('-', '_');
    boolean usual = saturate == usual(to).saturate;
    return rounding + (usual ? "" : saturate ? "_saturate" : "_overflow");
  }
}
