package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The keys that each query of the operator Attention sees. Query i is at the position i + past; if
 * the lengths of the sequences are given, at i + length - rows.
 *
 * @param rows the number of queries
 * @param columns the number of keys
 * @param past the number of keys before those of the call
 * @param causal whether a query sees no key after its position
 * @param left the number of keys before its position that a query sees; -1 for all
 * @param right the number of keys after its position that a query sees; -1 for all
 */
record AttentionMask(
    Node node, long rows, long columns, long past, boolean causal, long left, long right) {

  static AttentionMask of(Node node, Value q, Value k) {
    long right = node.integer("right_window_size", -1);
    boolean causal = node.flag("is_causal", false) || right == 0;
    return new AttentionMask(
        node,
        q.extent(2),
        k.extent(2),
        node.input(4).map(past -> past.extent(2)).orElse(0L),
        causal,
        node.integer("left_window_size", -1),
        causal ? -1 : right);
  }

  /** Returns the numbers of keys that are no padding, of each sequence. */
  private Optional<Value> lengths() {
    return node.input(6);
  }

  /** Returns whether attributes of the op attention select the keys by their positions. */
  private boolean isAligned() {
    return lengths().isEmpty() && right < 0 && (past == 0 || columns - rows == past);
  }

  /** Returns the attributes of the op attention. */
  Map<String, Object> attributes() {
    return isAligned()
        ? Map.of(
            "causal", causal,
            "alignment", past == 0 ? "top-left" : "bottom-right",
            "window", left < 0 ? 0 : Math.min(left + 1, Integer.MAX_VALUE))
        : Map.of();
  }

  /** Returns the mask for the op attention: what {@link #attributes} do not express. */
  Optional<Value> beyondAttributes() {
    return mask(!isAligned());
  }

  /** Returns f32 scores with the bias of the mask, and -infinity for keys that are not seen. */
  Value applied(Value scores) {
    return mask(true)
        .map(mask ->
            node.map(
                mask.dtype() == DType.BOOL
                    ? "where(x1, x0, -inf)"
                    : "where(x1 == -inf, -inf, x0 + x1)",
                DType.F32,
                List.of(),
                scores,
                mask))
        .orElse(scores);
  }

  /**
   * Returns a mask of bools, or a bias if the node has one.
   *
   * @param positions whether it hides keys by their distance from the query
   */
  private Optional<Value> mask(boolean positions) {
    var given = node.input(3).map(this::bias);
    long masked = node.input(3).map(mask -> mask.extent(-1)).orElse(columns);
    var terms = new ArrayList<String>();
    if (positions && causal) {
      terms.add("column <= row + offset");
    }
    if (positions && left >= 0) {
      terms.add("row + offset - column <= c0");
    }
    if (positions && right >= 0) {
      terms.add("column - row - offset <= c1");
    }
    if (masked < columns) {
      terms.add("column < c2");
    }
    if (lengths().isPresent()) {
      terms.add("column < offset + c3");
    }
    if (terms.isEmpty()) {
      return given;
    }
    var kept = String.join(" && ", terms);
    if (given.isEmpty()) {
      return Optional.of(computed(kept, DType.BOOL, masked, Map.of()));
    }
    var dtype = given.orElseThrow().dtype();
    var expression =
        dtype == DType.BOOL ? kept + " && mask" : "where(%s, mask, -inf)".formatted(kept);
    return Optional.of(computed(expression, dtype, masked, Map.of("mask", given.orElseThrow())));
  }

  /** Computes an expression of row, column, offset and other operands. */
  private Value computed(String expression, DType dtype, long masked, Map<String, Value> others) {
    var named = new LinkedHashMap<>(others);
    named.put("row", node.range(rows).along(2, 4));
    named.put("column", node.range(columns).along(3, 4));
    named.put("offset", offset());
    var operands = new ArrayList<Value>();
    var text = expression;
    for (var operand : named.entrySet()) {
      // ops reject operands that the expression does not use
      if (text.contains(operand.getKey())) {
        text = text.replace(operand.getKey(), "x" + operands.size());
        operands.add(operand.getValue());
      }
    }
    return node.map(
        text, dtype, List.of(left, right, masked, rows), operands.toArray(Value[]::new));
  }

  /** Returns the position of the first query. */
  private Value offset() {
    return lengths()
        .map(lengths -> node.map("i32(x) - c0", DType.I32, List.of(rows), lengths.along(0, 4)))
        .orElseGet(() -> node.constant(DType.I32, List.of(1L, 1L, 1L, 1L), (double) past));
  }

  /** Returns the mask of the node in a dtype of the op attention, with a column for each key. */
  private Value bias(Value mask) {
    boolean suits = mask.dtype() == DType.BOOL || mask.dtype() == node.x(0).dtype();
    var matrix = mask.rank() < 2 ? mask.reshape(1, -1) : mask;
    var bias = suits ? matrix : node.cast(matrix, DType.F32);
    long missing = columns - bias.extent(-1);
    if (missing <= 0) {
      return bias;
    }
    var after = new ArrayList<>(Collections.nCopies(bias.rank() - 1, 0L));
    after.add(missing);
    return node.one("pad", Map.of("after", after), bias);
  }
}
