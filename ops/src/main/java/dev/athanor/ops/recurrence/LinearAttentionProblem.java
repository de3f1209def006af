package dev.athanor.ops.recurrence;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * A linear-attention problem with validated shapes.
 *
 * @param length steps of a sequence
 * @param queryHeads heads of q
 * @param keyHeads heads of k
 * @param heads heads of v and of the state
 * @param keys elements of a key
 * @param values elements of a value
 * @param state dtype of the state
 * @param stateful whether a state is given
 * @param perKey whether each element of a key has a decay of its own
 */
record LinearAttentionProblem(
    DType dtype,
    int batch,
    int length,
    int queryHeads,
    int keyHeads,
    int heads,
    int keys,
    int values,
    DType state,
    boolean stateful,
    Optional<DType> decay,
    boolean perKey,
    Optional<DType> beta,
    double scale) {

  static final String STATE = "state";
  static final String NEXT = "next";

  /** The greatest number of elements of a key: 32 threads with 32 each. */
  static final int MOST_KEYS = 1024;

  /**
   * Returns the problem of a call.
   *
   * @throws OpException if the shapes do not fit together or an extent is too large
   */
  static LinearAttentionProblem of(
      OpDescription description, Map<String, TensorType> inputs, Attributes attributes) {
    var bound = BoundInputs.of(description, inputs, attributes);
    var k = bound.type("k");
    var v = bound.type("v");
    long keys = bound.extent("Dk");
    if (keys > MOST_KEYS) {
      throw new OpException.TooLarge(
          "k",
          "input \"k\" has shape %s with %d elements per key; the maximum is %d"
              .formatted(k.shape(), keys, MOST_KEYS));
    }
    long queryHeads = bound.extent("Hq");
    long keyHeads = bound.extent("Hk");
    long heads = bound.extent("Hv");
    if (!isMultiple(heads, keyHeads)) {
      throw new OpException.ShapeMismatch(
          "k",
          "v %s has %d heads and k %s has %d; the number of heads of v must be a multiple of that of k"
              .formatted(v.shape(), heads, k.shape(), keyHeads));
    }
    var q = bound.type("q");
    boolean isRead = isMultiple(heads, queryHeads) || isMultiple(queryHeads, heads);
    if (!isRead || (heads == 0) != (queryHeads == 0)) {
      throw new OpException.ShapeMismatch(
          "q",
          "v %s has %d heads and q %s has %d; one of these numbers must be a multiple of the other"
              .formatted(v.shape(), heads, q.shape(), queryHeads));
    }
    long steps =
        Math.multiplyExact(
            (long) Checks.requireExtent("v", v, bound.extent("B")),
            Checks.requireExtent("v", v, bound.extent("T")));
    Checks.count("v", v.shape(), multiply(steps, heads));
    Checks.count("q", q.shape(), multiply(steps, queryHeads));
    Checks.requireExtent("v", v, bound.extent("Dv"));
    Checks.count("v", v.shape(), keys * bound.extent("Dv"));
    var dtype = q.dtype();
    boolean stateful = bound.has(STATE);
    return new LinearAttentionProblem(
        dtype,
        (int) bound.extent("B"),
        (int) bound.extent("T"),
        (int) queryHeads,
        (int) keyHeads,
        (int) heads,
        (int) keys,
        (int) bound.extent("Dv"),
        stateful ? bound.dtype(STATE) : dtype,
        stateful,
        bound.has("decay") ? Optional.of(bound.dtype("decay")) : Optional.empty(),
        bound.has("decay") && bound.type("decay").shape().rank() == 4,
        bound.has("beta") ? Optional.of(bound.dtype("beta")) : Optional.empty(),
        attributes.has("scale")
            ? attributes.number("scale")
            : keys == 0 ? 1 : 1 / Math.sqrt((double) keys));
  }

  private static boolean isMultiple(long number, long of) {
    return of == 0 ? number == 0 : number % of == 0;
  }

  /** Returns a product of extents, or one that is too large for {@link Checks#count}. */
  private static long multiply(long steps, long heads) {
    return heads > 0 && steps > Integer.MAX_VALUE / heads ? Integer.MAX_VALUE : steps * heads;
  }

  /** Returns the heads of the output. */
  int outHeads() {
    return Math.max(queryHeads, heads);
  }

  /** Returns the queries that read a head of the state in a step. */
  int queries() {
    return heads == 0 ? 0 : outHeads() / heads;
  }

  Map<String, TensorType> outputs() {
    var outputs = new LinkedHashMap<String, TensorType>();
    outputs.put("out", Checks.output("out", dtype, Shape.of(batch, length, outHeads(), values)));
    outputs.put(NEXT, Checks.output(NEXT, state, Shape.of(batch, heads, keys, values)));
    return outputs;
  }

  /** Returns the multiply-adds and multiplications, as floating-point operations. */
  double flops() {
    double updates = decay.isPresent() ? 3 : 2;
    double all = updates + (beta.isPresent() ? 2 : 0) + 2.0 * queries();
    return all * batch * length * heads * keys * values;
  }
}
