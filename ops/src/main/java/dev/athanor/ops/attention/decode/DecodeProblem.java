package dev.athanor.ops.attention.decode;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.FlashTask.Pages;
import dev.athanor.ops.problem.BoundInputs;
import java.util.Map;

/**
 * Attention of one query per head to a cache, with validated shapes.
 *
 * @param heads of q
 * @param sharedHeads of the cache; {@code heads / sharedHeads} consecutive heads of q share one
 * @param capacity maximum number of keys of a sequence
 * @param window 0 for none
 * @param pages of a paged cache
 */
record DecodeProblem(
    DType dtype,
    int batch,
    int heads,
    int sharedHeads,
    int capacity,
    int d,
    int dv,
    double scale,
    int window,
    Pages pages) {

  static DecodeProblem of(Map<String, TensorType> inputs, Attributes attributes) {
    var q = AttentionProblem.input(inputs, "q");
    var k = AttentionProblem.input(inputs, "kCache");
    var v = AttentionProblem.input(inputs, "vCache");
    var table = inputs.get("blockTable");
    if (q.shape().rank() != 4 || q.shape().extent(2) != 1) {
      throw new OpException.ShapeMismatch(
          "q",
          "input \"q\" has shape %s; it must be [B, Hq, 1, D]; use attention for more queries"
              .formatted(q.shape()));
    }
    BoundInputs.of(AttentionDecode.DESCRIPTION, inputs, attributes);
    int batch = AttentionProblem.extent("q", q, 0);
    int heads = AttentionProblem.extent("q", q, 1);
    int d = AttentionProblem.columns("q", q);
    int dv = AttentionProblem.columns("vCache", v);
    int sharedHeads = AttentionProblem.extent("kCache", k, 1);
    int rows = AttentionProblem.extent("kCache", k, 2);
    AttentionProblem.wholeGroups("kCache", k, sharedHeads, q, heads);
    int first = AttentionProblem.extent("kCache", k, 0);
    int capacity = rows;
    var pages = Pages.NONE;
    if (table != null) {
      int maxBlocks = AttentionProblem.extent("blockTable", table, 1);
      pages = new Pages(maxBlocks, first, rows);
      capacity = countable("blockTable", table, "maxBlocks · blockSize", (long) maxBlocks * rows);
      countable("blockTable", table, "B · maxBlocks", (long) batch * maxBlocks);
      countable("kCache", k, "N · Hkv", (long) first * sharedHeads);
    }
    int window = AttentionProblem.window(attributes, capacity);
    return new DecodeProblem(
        q.dtype(),
        batch,
        heads,
        sharedHeads,
        capacity,
        d,
        dv,
        AttentionProblem.scale(attributes, d),
        window,
        pages);
  }

  private static int countable(String name, TensorType tensor, String what, long count) {
    if (count > Integer.MAX_VALUE - 1024) {
      throw new OpException.TooLarge(
          name,
          "with %s %s the product %s is %d; the maximum is 2^31 - 1025"
              .formatted(name, tensor.shape(), what, count));
    }
    return (int) count;
  }

  boolean paged() {
    return pages.blockSize() > 0;
  }

  TensorType out() {
    return TensorType.of(dtype, batch, heads, 1, dv);
  }

  /** Returns the first key that the newest query of a sequence sees. */
  int from(int length) {
    return window == 0 ? 0 : Math.max(0, length - window);
  }
}
