package dev.athanor.ops.quant;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpException;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A K x N matrix of 4-bit weights: weight {@code (k, n)} is {@code scales[k/group, n] · (q −
 * zero[k/group, n])}. The last group may be shorter. With {@code indexed}, an input names the group
 * of each row, as for {@code g_idx} of GPTQ's act-order; weights of groups that do not exist are 0.
 *
 * @param group number of weights of a column that share a scale
 * @param scale dtype of the scales
 * @param zeros whether zero points are stored; otherwise they are 8 for GPTQ and AWQ
 * @param lessOne whether zero points are stored minus one
 * @param indexed whether an input names the group of each row
 */
public record Int4Weights(
    Int4Layout layout,
    int k,
    int n,
    int group,
    DType scale,
    boolean zeros,
    boolean lessOne,
    boolean indexed) {

  /** The name of the input with the group of each row. */
  public static final String GROUP_INDICES = "groupIndices";

  /** The dtypes of scales. */
  public static final Set<DType> SCALES = Set.of(DType.F16, DType.BF16, DType.F32);

  /** The shape of the packed words of a {@code [K, N]} matrix. */
  public static final String WORDS = ofLayouts("", "[N, K/8]", "[K/8, N]", "[K, N/8]");

  /** The dtypes of words: u32, and i32 as PyTorch stores them. */
  public static final Set<DType> WORD_TYPES = Set.of(DType.U32, DType.I32);

  private static final int LEAST_GROUP = 16;
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

  /**
   * Returns the input with the group of each row.
   *
   * @param condition of the input, as text
   */
  public static Input groupIndices(String condition) {
    return new Input(
        GROUP_INDICES,
        "[K]",
        Set.of(DType.I32),
        true,
        "group of each row k, such as g_idx of GPTQ%s; a row whose group does not exist yields"
                .formatted(condition)
            + " zeros. Default: k / groupSize");
  }

  /** Returns the forms of a shape for the layouts, on a further condition. */
  static String ofLayouts(String condition, String kPacked, String gptq, String awq) {
    return "%s with %sk-packed or %s with %sgptq or %s with %sawq"
        .formatted(kPacked, condition, gptq, condition, awq, condition);
  }

  public static Attribute groupSize() {
    return Attribute.integer(
            GROUP_SIZE,
            128,
            "number of weights of a column that share a scale: a power of two of at least"
                + " 16, or -1 for all; the last group may be shorter")
        .from(-1, 1 << 30);
  }

  /**
   * Checks the requested group size.
   *
   * @throws OpException.InvalidAttribute unless it is a power of two of at least 16, or -1
   */
  public static void checkGroupSize(Attributes attributes) {
    long asked = attributes.integer(GROUP_SIZE);
    if (asked != -1 && (asked < LEAST_GROUP || Long.bitCount(asked) != 1)) {
      throw new OpException.InvalidAttribute(
          GROUP_SIZE,
          "attribute \"groupSize\" must be a power of two of at least 16, or -1 for a single group along K, got %d"
              .formatted(asked));
    }
  }

  /** Returns the requested group size, at most {@code k}. */
  private static int group(Attributes attributes, int k) {
    long asked = attributes.integer(GROUP_SIZE);
    return asked == -1 || asked > k ? k : (int) asked;
  }

  /**
   * Returns the weights of a call.
   *
   * @param name name of the input with the packed words
   * @param columns name of the number of columns in its shape
   * @param scales name of the input with the scales
   */
  public static Int4Weights of(
      BoundInputs call, String name, String columns, String scales, Attributes attributes) {
    var layout = layout(attributes);
    var format = attributes.choice("zeroFormat");
    boolean lessOne = format.isEmpty() ? layout == Int4Layout.GPTQ : format.equals("less-one");
    boolean zeros = call.has("zeros");
    if (zeros && layout == Int4Layout.K_PACKED) {
      throw new OpException.UnknownField(
          "zeros",
          "layout k-packed has signed weights without zero points; omit \"zeros\", or"
              + " use layout gptq or awq");
    }
    var packed = call.type(name);
    int k = Checks.requireExtent(name, packed, call.extent("K"));
    int n = Checks.requireExtent(name, packed, call.extent(columns));
    if (k % Int4Layout.WORD != 0) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s, so K = %d; for 4-bit weights, K must be a multiple of 8"
              .formatted(name, packed.shape(), k));
    }
    return new Int4Weights(
        layout,
        k,
        n,
        group(attributes, k),
        call.dtype(scales),
        zeros,
        zeros && lessOne,
        call.has(GROUP_INDICES));
  }

  /** Replaces drawn groups of rows by those that have scales. */
  public static void drawGroups(Map<String, HostTensor> drawn, String scales, Draw draw) {
    drawn.computeIfPresent(
        GROUP_INDICES,
        (_, indices) -> {
          var ofGroups = Objects.requireNonNull(drawn.get(scales)).type().shape();
          return draw.integers(0, Math.max(1, ofGroups.extent(0)) - 1, indices.type());
        });
  }

  /** Returns the requested layout; the default, also of ops without the attribute, is k-packed. */
  private static Int4Layout layout(Attributes attributes) {
    var asked = attributes.choice("layout");
    return asked.isEmpty() ? Int4Layout.K_PACKED : Int4Layout.of(asked);
  }

  /** Returns the right shift that computes the group of a row. */
  public int groupShift() {
    return group == k ? 31 : Integer.numberOfTrailingZeros(group);
  }

  /** Returns the number of groups along K. */
  int groups() {
    return Math.ceilDiv(k, Math.max(1, group));
  }

  /**
   * Returns the columns of the weights in float64.
   *
   * @param inputs of the op, with zero points and the groups of rows under their names
   */
  public Problems.Columns columns(
      HostTensor packed, HostTensor scales, Map<String, HostTensor> inputs) {
    return column ->
        IntStream.range(0, k)
            .mapToDouble(row -> weight(packed, scales, inputs, row, column))
            .toArray();
  }

  /** Returns a weight in float64. */
  double weight(
      HostTensor packed, HostTensor scales, Map<String, HostTensor> inputs, int row, int column) {
    var indices = inputs.get(GROUP_INDICES);
    int ofGroup = indices == null ? row / group : (int) indices.get(row);
    if (ofGroup < 0 || ofGroup >= groups()) {
      return 0;
    }
    double scale = scales.get((long) ofGroup * n + column);
    return scale * (quant(packed, row, column) - zero(inputs.get("zeros"), ofGroup, column));
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
