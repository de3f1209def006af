package dev.athanor.ops.attention;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * An attention problem with validated shapes.
 *
 * @param dtype of q, k, v and out
 * @param heads of q
 * @param sharedHeads of k and v; {@code heads / sharedHeads} consecutive heads of q share one
 * @param queries of a head
 * @param keys of a head
 * @param d elements of a query and of a key
 * @param dv elements of a value
 * @param scale scale factor of the products of queries and keys
 * @param cap the softcap; 0 for none
 * @param window 0 for none
 * @param leading the dimensions of q before its last two
 * @param mask the input that hides keys or adds to scores
 */
public record AttentionProblem(
    DType dtype,
    int batch,
    int heads,
    int sharedHeads,
    int queries,
    int keys,
    int d,
    int dv,
    Score score,
    double scale,
    double cap,
    int window,
    Shape leading,
    Optional<Mask> mask) {

  /** The dtypes of queries, keys and values. */
  public static final Set<DType> DTYPES = Set.of(DType.F32, DType.F16, DType.BF16);

  private static final String ALIGNMENT = "alignment";
  private static final String BOTTOM_RIGHT = "bottom-right";
  private static final String TOP_LEFT = "top-left";
  private static final double MIN_SCALE = 1e-6;
  private static final double MAX_SCALE = 1e6;

  /** Returns the attributes of {@link #of}. */
  public static List<Attribute> attributes() {
    return List.of(
        Attribute.flag("causal", "whether the query at position p attends only to keys j ≤ p"),
        Attribute.choice(
            ALIGNMENT,
            BOTTOM_RIGHT,
            List.of(BOTTOM_RIGHT, TOP_LEFT),
            "alignment of queries with keys, for causal and window: the position p of"
                + " query i. bottom-right: p = i + Sk − Sq, so the last query is aligned with the"
                + " last key, as in FlashAttention 2.1 and later. top-left: p = i, as is_causal"
                + " in PyTorch"),
        scaleAttribute(),
        windowAttribute(),
        Attribute.number(
                "softcap",
                0,
                "soft cap of the scores s, which become softcap·tanh(s/softcap); at least"
                    + " 1e-6, or 0 to disable it")
            .from(0, MAX_SCALE));
  }

  public static Attribute scaleAttribute() {
    return Attribute.number("scale", "scale factor applied to q·kᵀ; default 1/√D")
        .from(MIN_SCALE, MAX_SCALE);
  }

  static Attribute windowAttribute() {
    return Attribute.integer(
            "window",
            0,
            "sliding window size: the query at position p attends only to keys j > p −"
                + " window; 0 disables it")
        .from(0, Integer.MAX_VALUE);
  }

  /**
   * Returns the problem of inputs whose shapes match the description.
   *
   * @throws OpException if the numbers of heads do not fit together, the mask does not broadcast,
   *     or an extent or the softcap is out of range
   */
  public static AttentionProblem of(Map<String, TensorType> inputs, Attributes attributes) {
    var q = input(inputs, "q");
    var k = input(inputs, "k");
    var v = input(inputs, "v");
    int rank = q.shape().rank();
    int d = columns("q", q);
    int dv = columns("v", v);
    int keys = extent("k", k, -2);
    int batch = rank < 3 ? 1 : extent("q", q, 0);
    int heads = rank < 4 ? 1 : extent("q", q, 1);
    int sharedHeads = rank < 4 ? 1 : extent("k", k, 1);
    wholeGroups("k", k, sharedHeads, q, heads);
    double cap = attributes.number("softcap");
    if (cap > 0 && cap < MIN_SCALE) {
      throw new OpException.InvalidAttribute(
          "softcap",
          "attribute \"softcap\" must be 0 or at least %s, got %s".formatted(MIN_SCALE, cap));
    }
    int window = window(attributes, (long) extent("q", q, -2) + keys);
    boolean causal = attributes.flag("causal");
    int queries = extent("q", q, -2);
    // if positions are equal or unused, both alignments share one kernel
    boolean topLeft =
        attributes.choice(ALIGNMENT).equals(TOP_LEFT) && queries != keys && (causal || window > 0);
    var mask = Mask.of(inputs, q.shape().leading(2), queries, keys);
    boolean bias = mask.map(Mask::dtype).filter(Mask::isBias).isPresent();
    return new AttentionProblem(
        q.dtype(),
        batch,
        heads,
        sharedHeads,
        queries,
        keys,
        d,
        dv,
        new Score(topLeft, causal, window > 0, cap > 0, bias),
        scale(attributes, d),
        cap,
        window,
        q.shape().leading(2),
        mask);
  }

  /**
   * Returns the requested window, or 0 if it hides nothing.
   *
   * @param all the least window that hides nothing; greater ones could overflow in kernels
   */
  public static int window(Attributes attributes, long all) {
    long window = attributes.integer("window");
    return window >= all ? 0 : (int) window;
  }

  public static double scale(Attributes attributes, int d) {
    return attributes.has("scale") ? attributes.number("scale") : 1 / Math.sqrt(d);
  }

  public static TensorType input(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /** Returns an extent that fits the index arithmetic of kernels. */
  public static int extent(String name, TensorType tensor, int index) {
    long extent = tensor.shape().extent(index);
    if (extent > Integer.MAX_VALUE - 1024) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s; the maximum extent is 2^31 - 1025"
              .formatted(name, tensor.shape()));
    }
    return (int) extent;
  }

  /** Returns the elements of a query, a key or a value. */
  public static int columns(String name, TensorType tensor) {
    return columns(name, tensor, FlashVariant.MAX_COLUMNS);
  }

  /** Returns the elements of a query, a key or a value, at most {@code most}. */
  public static int columns(String name, TensorType tensor, int most) {
    long extent = tensor.shape().extent(-1);
    if (extent > most) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s with a head size of %d; the maximum is %d"
              .formatted(name, tensor.shape(), extent, most));
    }
    return (int) extent;
  }

  public static void wholeGroups(
      String name, TensorType tensor, int sharedHeads, TensorType q, int heads) {
    if (sharedHeads == 0 ? heads != 0 : heads % sharedHeads != 0) {
      throw new OpException.ShapeMismatch(
          name,
          "q %s has %d heads and %s %s has %d; the number of query heads must be a multiple of the number of key/value heads"
              .formatted(q.shape(), heads, name, tensor.shape(), sharedHeads));
    }
  }

  /** Returns the type of queries, keys or values. */
  TensorType type(Shape leadingDimensions, int rows, int columns) {
    return new TensorType(dtype, leadingDimensions.with(rows, columns));
  }

  public TensorType out() {
    return type(leading, queries, dv);
  }

  public TensorType lse() {
    return new TensorType(DType.F32, leading.with(queries));
  }

  /** Returns the number of visible query-key pairs of all heads. */
  public double pairs() {
    double pairs = 0;
    if (!score.hides()) {
      pairs = (double) queries * keys;
    } else {
      for (int i = 0; i < queries; i++) {
        pairs += Math.max(0, to(i) - from(i));
      }
    }
    return pairs * batch * heads;
  }

  /** Returns the first key that a query sees. */
  int from(int query) {
    return score.window() ? (int) Math.max(0, position(query) - window + 1) : 0;
  }

  /** Returns the end, exclusive, of the keys that a query sees. */
  int to(int query) {
    return score.causal() ? Math.clamp(position(query) + 1, 0, keys) : keys;
  }

  private long position(int query) {
    return score.topLeft() ? query : (long) query + keys - queries;
  }

  /** Returns the tolerance of an output relative to its float64 reference. */
  public static Tolerance tolerance(DType dtype) {
    return Tolerance.maximum(
        switch (dtype) {
          case F32 -> 1e-5;
          case F16 -> 2e-3;
          case BF16 -> 1e-2;
          default -> throw new IllegalArgumentException(dtype.text());
        });
  }
}
