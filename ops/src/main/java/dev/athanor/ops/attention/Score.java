package dev.athanor.ops.attention;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The mask and the transformation of products before the softmax. Query {@code i} of {@code Sq} has
 * a position {@code p} among {@code Sk} keys.
 *
 * @param topLeft whether {@code p = i}; otherwise {@code p = i + Sk − Sq}
 * @param causal whether keys {@code j > p} are hidden
 * @param window whether keys {@code j ≤ p − window} are hidden
 * @param softcap whether a score {@code s} becomes {@code cap·tanh(s/cap)}
 * @param bias whether a bias is added to the score. Kernels then scale scores before the addition,
 *     and otherwise after taking their difference to the maximum
 */
public record Score(
    boolean topLeft, boolean causal, boolean window, boolean softcap, boolean bias) {

  public static final double LOG2_E = 1 / Math.log(2);

  /** Returns whether there is a mask. */
  public boolean hides() {
    return causal || window;
  }

  /** Returns a suffix for kernel names: {@code _topleft_causal_window_softcap}. */
  public String suffix() {
    return (topLeft ? "_topleft" : "")
        + (causal ? "_causal" : "")
        + (window ? "_window" : "")
        + (softcap ? "_softcap" : "");
  }

  /** Returns the kernel parameter {@code factor}, by which products are multiplied first. */
  private float factor(double scale, double cap) {
    return (float) (softcap ? scale / cap : bias ? scale : scale * LOG2_E);
  }

  /** Returns the kernel parameter {@code cap}; without a bias, in units of the base-2 logarithm. */
  private float limit(double cap) {
    return (float) (bias ? cap : cap * LOG2_E);
  }

  /** Returns the arguments of {@link Device}. */
  public Arguments arguments(double scale, double cap, int window) {
    return Arguments.NONE
        .with("factor", factor(scale, cap))
        .with("cap", limit(cap))
        .with("window", window);
  }

  /** Returns the factor by which {@link Device#log2} multiplies. */
  float log2Factor(double scale) {
    return bias ? (float) LOG2_E : softcap ? 1 : (float) (scale * LOG2_E);
  }

  /**
   * A range {@code from ≤ i < to} of visible indices.
   *
   * @param from null for 0; may be negative
   */
  public record Range(@Nullable Int from, Int to) {

    /** Returns {@code from}, which must be present. */
    public Int start() {
      return Objects.requireNonNull(from);
    }

    /** Returns whether an index is visible. */
    public Predicate contains(Int index) {
      var before = index.lt(to);
      return from == null ? before : before.and(from.le(index));
    }
  }

  /** Emits the score in kernels, in units of the base-2 logarithm unless there is a bias. */
  public final class Device {
    private final KernelBuilder k;
    private final Real factor;
    private final Real cap;
    private final Int window;
    private final Int queries;
    private final Int keys;

    /** Reads the parameters {@code factor, cap, window}. */
    public Device(KernelBuilder k, Int queries, Int keys) {
      this.k = k;
      this.queries = queries;
      this.keys = keys;
      factor = k.real("factor", Type.F32);
      cap = k.real("cap", Type.F32);
      window = k.integer("window");
    }

    Int queries() {
      return queries;
    }

    Int keys() {
      return keys;
    }

    /** Returns the keys that the query at a position sees. */
    public Range keysOf(Int position) {
      return new Range(
          window() ? position.minus(window).plus(1) : null,
          causal() ? keys.min(position.plus(1)) : keys);
    }

    private boolean window() {
      return Score.this.window;
    }

    private boolean causal() {
      return Score.this.causal;
    }

    /** Returns the position of a query among the keys. */
    public Int position(Int query) {
      return topLeft ? query : query.plus(keys).minus(queries);
    }

    /** Returns the queries that see a key. */
    public Range queriesOf(Int key) {
      var query = topLeft ? key : key.minus(keys).plus(queries);
      return new Range(
          causal() ? query.min(queries) : null,
          window() ? queries.min(query.plus(window)) : queries);
    }

    /**
     * Returns the column range of a block of rows: from the start of the first tile that its first
     * row sees to the end of the range of its last row.
     */
    public Range tiles(Range first, Range last, int columns) {
      var earliest = first.from;
      return new Range(
          earliest == null ? k.integer(0) : earliest.max(k.integer(0)).div(columns).times(columns),
          last.to);
    }

    /** Returns whether a row of a block does not see the whole tile that begins at {@code at}. */
    public Predicate ragged(Range first, Range last, Int at, int columns) {
      var whole = at.plus(columns).le(first.to);
      var from = last.from;
      return (from == null ? whole : whole.and(from.le(at))).not();
    }

    /**
     * Applies the softcap to products; without a softcap or a bias, {@link #log2} applies the
     * factor.
     */
    public void cap(RegisterTile products) {
      if (softcap()) {
        products.map(s -> tanh(s.times(factor)).times(cap));
      } else if (bias()) {
        products.map(s -> s.times(factor));
      }
    }

    /** Returns the score from the result of {@link #cap}. */
    Real log2(Real capped) {
      return bias() ? capped.times(LOG2_E) : softcap() ? capped : capped.times(factor);
    }

    /**
     * Returns {@code 2^(score − greatest)} from two results of {@link #cap}. Their difference is
     * scaled: of scores beyond 2³¹, the rounding errors alone exceed the range of the power.
     */
    Real weight(Real capped, Real greatest) {
      return log2(capped.minus(greatest)).exp2WithoutSubnormals();
    }

    /**
     * Returns the weight of a score from the log-sum-exp of its row, {@code 2^(score − lse)}. It is
     * at most 1, also where the f32 lse of a large score is less than the score.
     */
    public Real probability(Real capped, Real lse) {
      var log2 = softcap() ? capped.minus(lse) : capped.fma(factor, lse.negate());
      return log2.constant(0).where(log2.gt(0), log2).exp2WithoutSubnormals();
    }

    /** Returns the derivative of the score with respect to {@code scale} times the product. */
    public Real slope(Real capped) {
      var tanh = capped.times(cap.reciprocal());
      return tanh.negate().fma(tanh, tanh.constant(1));
    }

    /**
     * Replaces the elements outside the rows' ranges in a tile of columns that begins at {@code
     * first}.
     *
     * @param ranges one for each row of the thread
     */
    public void hide(RegisterTile tile, List<Range> ranges, Int first, Real hidden) {
      var begin = first.plus(tile.firstColumn());
      tile.map((r, c, s) -> {
        var range = ranges.get(r);
        var at = k.integer(tile.columnOffset(c));
        var seen = range.to.minus(begin).gt(at);
        var from = range.from;
        return s.where(from == null ? seen : seen.and(from.minus(begin).le(at)), hidden);
      });
    }

    /**
     * Returns tanh(x): the Taylor series near 0, where the exponential formula would cancel, and
     * the exponential formula elsewhere, which gives 1 if the exponential overflows.
     */
    private Real tanh(Real x) {
      var square = x.times(x);
      var series = square.constant(62.0 / 2835);
      for (double c : new double[] {-17.0 / 315, 2.0 / 15, -1.0 / 3, 1}) {
        series = series.fma(square, square.constant(c));
      }
      var tail = x.times(2 * LOG2_E).exp2WithoutSubnormals().plus(1);
      var reciprocal = k.compute(Type.F32, "rcp.approx.f32", tail).widen();
      var far = reciprocal.fma(x.constant(-2), x.constant(1));
      return x.times(series).where(x.abs().lt(0.3), far);
    }
  }

  /** Returns the score in float64. */
  double of(double product, double scale, double cap) {
    return softcap ? cap * Math.tanh(product * scale / cap) : product * scale;
  }

  /**
   * Returns the derivative of the score with respect to {@code scale} times the product, in
   * float64.
   */
  public double slope(double product, double scale, double cap) {
    double tanh = softcap ? Math.tanh(product * scale / cap) : 0;
    return 1 - tanh * tanh;
  }
}
