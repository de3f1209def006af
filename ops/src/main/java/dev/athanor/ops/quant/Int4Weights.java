package dev.athanor.ops.quant;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.Checks;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A checked K x N matrix of 4-bit weights: weight {@code (k, n)} is {@code scales[k/group, n] · (q
 * − zero[k/group, n])}. The last group may be shorter.
 *
 * @param group number of weights of a column that share a scale
 * @param zeros whether zero points are stored; otherwise they are 8 for GPTQ and AWQ
 * @param lessOne whether zero points are stored minus one
 */
public record Int4Weights(
    Int4Layout layout, int k, int n, int group, boolean zeros, boolean lessOne) {

  private static final int LEAST_GROUP = 32;
  private static final String GROUP_SIZE = "groupSize";

  /** The attributes of an op with one matrix of 4-bit weights. */
  public static final List<Attribute> ATTRIBUTES =
      List.of(
          groupSize(),
          Attribute.choice(
              "layout",
              "k-packed",
              Int4Layout.names(),
              "packing of the 4-bit weights (k, n). k-packed: [N, K/8], nibble k % 8 of word"
                  + " (n, k/8), signed, without zeros. gptq: [K/8, N], nibble k % 8 of word (k/8,"
                  + " n), unsigned; zeros [K/groupSize, N/8], nibble n % 8. awq: [K, N/8], nibbles"
                  + " 0 to 7 of a word are columns 0 2 4 6 1 3 5 7, unsigned; zeros [K/groupSize,"
                  + " N/8] in the same order"),
          Attribute.choice(
              "zeroFormat",
              "",
              List.of("plain", "less-one"),
              "encoding of zeros. plain: nibbles are the zero points, 0 to 15. less-one:"
                  + " nibbles are the zero points minus one, as in the original GPTQ format, so a"
                  + " nibble of 15 represents 16. This format cannot represent a zero point of 0;"
                  + " if a packer wraps it to 15, convert the zeros to plain. Default: less-one for"
                  + " gptq, plain for awq"));

  public static Attribute groupSize() {
    return Attribute.integer(
            GROUP_SIZE,
            128,
            "number of weights of a column that share a scale: a power of two of at least"
                + " 32, or -1 for all; the last group may be shorter")
        .from(-1, 1 << 30);
  }

  /** Returns the requested group size, at most {@code k}. */
  static int group(Attributes attributes, int k) {
    long asked = attributes.integer(GROUP_SIZE);
    if (asked != -1 && (asked < LEAST_GROUP || Long.bitCount(asked) != 1)) {
      throw new OpException.InvalidAttribute(
          GROUP_SIZE,
          "attribute \"groupSize\" must be a power of two of at least 32, or -1 for a single group along K, got %d"
              .formatted(asked));
    }
    return asked == -1 || asked > k ? k : (int) asked;
  }

  /**
   * Checks the weights of an op, whose zero points are the input {@code zeros}. The default layout
   * is k-packed.
   *
   * @param name name of the input with the packed words
   */
  public static Int4Weights of(
      String name,
      TensorType packed,
      String scaleName,
      @Nullable TensorType scales,
      @Nullable TensorType zeros,
      Attributes attributes) {
    var asked = attributes.choice("layout");
    var layout = asked.isEmpty() ? Int4Layout.K_PACKED : Int4Layout.of(asked);
    var format = attributes.choice("zeroFormat");
    boolean lessOne = format.isEmpty() ? layout == Int4Layout.GPTQ : format.equals("less-one");
    requireMatrix(name, packed);
    long rows = packed.shape().extent(0);
    long columns = packed.shape().extent(1);
    long k =
        switch (layout) {
          case K_PACKED -> columns * Int4Layout.WORD;
          case GPTQ -> rows * Int4Layout.WORD;
          case AWQ -> rows;
        };
    long n =
        switch (layout) {
          case K_PACKED -> rows;
          case GPTQ -> columns;
          case AWQ -> columns * Int4Layout.WORD;
        };
    Checks.requireExtent(name, packed, k);
    Checks.requireExtent(name, packed, n);
    if (k % Int4Layout.WORD != 0) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s, so K = %d; for 4-bit weights, K must be a multiple of 8"
              .formatted(name, packed.shape(), k));
    }
    var weights =
        new Int4Weights(
            layout, (int) k, (int) n, group(attributes, (int) k), zeros != null, lessOne);
    weights.check(scaleName, scales);
    if (zeros != null) {
      weights.checkZeros(zeros);
    }
    return weights;
  }

  private static void requireMatrix(String name, TensorType packed) {
    if (packed.shape().rank() != 2) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s; packed weights must be a matrix of words"
              .formatted(name, packed.shape()));
    }
  }

  private void check(String name, @Nullable TensorType scales) {
    if (scales == null) {
      throw new OpException.MissingInput(
          name, "input \"%s\" is missing; 4-bit weights require scales".formatted(name));
    }
    if (!scales.shape().equals(Shape.of(groups(), n))) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s; with K = %d and groups of %d it must be [K/groupSize, N] = [%d, %d]"
              .formatted(name, scales.shape(), k, group, groups(), n));
    }
    if (scales.dtype() != DType.F16) {
      throw new OpException.UnsupportedDType(
          name,
          "input \"%s\" is %s; scales of 4-bit weights must be f16"
              .formatted(name, scales.dtype().text()));
    }
  }

  private void checkZeros(TensorType given) {
    if (layout == Int4Layout.K_PACKED) {
      throw new OpException.UnknownField(
          "zeros",
          "layout k-packed has signed weights without zero points; omit \"zeros\", or"
              + " use layout gptq or awq");
    }
    if (n % Int4Layout.WORD != 0) {
      throw new OpException.ShapeMismatch(
          "zeros",
          "each word packs eight zero points along N, so N must be a multiple of 8, got %d"
              .formatted(n));
    }
    if (!given.shape().equals(Shape.of(groups(), n / Int4Layout.WORD))) {
      throw new OpException.ShapeMismatch(
          "zeros",
          "input \"zeros\" has shape %s; it must be [K/groupSize, N/8] = [%d, %d]"
              .formatted(given.shape(), groups(), n / Int4Layout.WORD));
    }
  }

  /** Returns the right shift that computes the group of a row. */
  public int groupShift() {
    return group == k ? 31 : Integer.numberOfTrailingZeros(group);
  }

  int groups() {
    return Math.ceilDiv(k, Math.max(1, group));
  }

  /** Returns the columns of the weights in float64. */
  public Problems.Columns columns(
      HostTensor packed, HostTensor scales, @Nullable HostTensor zeroPoints) {
    return column ->
        IntStream.range(0, k)
            .mapToDouble(row -> weight(packed, scales, zeroPoints, row, column))
            .toArray();
  }

  /** Returns a weight in float64. */
  double weight(
      HostTensor packed, HostTensor scales, @Nullable HostTensor zeroPoints, int row, int column) {
    double scale = scales.get((long) (row / group) * n + column);
    return scale * (quant(packed, row, column) - zero(zeroPoints, row / group, column));
  }

  private int quant(HostTensor packed, int row, int column) {
    return switch (layout) {
      case K_PACKED -> {
        int nibble = nibble(packed, (long) column * (k / Int4Layout.WORD) + row / 8, row % 8);
        yield nibble < 8 ? nibble : nibble - 16;
      }
      case GPTQ -> nibble(packed, (long) (row / 8) * n + column, row % 8);
      case AWQ ->
          nibble(
              packed,
              (long) row * (n / Int4Layout.WORD) + column / 8,
              layout.nibbleOfColumn(column % 8));
    };
  }

  private int zero(@Nullable HostTensor zeroPoints, int ofGroup, int column) {
    if (zeroPoints == null) {
      return layout == Int4Layout.K_PACKED ? 0 : Int4Layout.MIDDLE;
    }
    long word = (long) ofGroup * (n / Int4Layout.WORD) + column / 8;
    return nibble(zeroPoints, word, layout.nibbleOfColumn(column % 8)) + (lessOne ? 1 : 0);
  }

  private static int nibble(HostTensor words, long word, int i) {
    return (int) (words.type().dtype().readLong(words.data(), word) >>> (4 * i)) & 15;
  }
}
