package dev.athanor.ops.attention.decode;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.FlashTask.Pages;
import dev.athanor.ops.attention.Mask;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.problem.BoundInputs;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Attention of the newest queries to a cache, with validated shapes.
 *
 * @param heads of q
 * @param sharedHeads of the cache; {@code heads / sharedHeads} consecutive heads of q share one
 * @param queries of a head
 * @param capacity maximum number of keys of a sequence
 * @param window 0 for none
 * @param pages of a paged cache
 * @param mask the input that hides keys or adds to scores
 */
record DecodeProblem(
    DType dtype,
    int batch,
    int heads,
    int sharedHeads,
    int queries,
    int capacity,
    int d,
    int dv,
    double scale,
    int window,
    Pages pages,
    Optional<Mask> mask) {

  static DecodeProblem of(Map<String, TensorType> inputs, Attributes attributes) {
    var q = AttentionProblem.input(inputs, "q");
    var k = AttentionProblem.input(inputs, "kCache");
    var v = AttentionProblem.input(inputs, "vCache");
    var table = inputs.get("blockTable");
    BoundInputs.of(AttentionDecode.DESCRIPTION, inputs, attributes);
    int batch = AttentionProblem.extent("q", q, 0);
    int heads = AttentionProblem.extent("q", q, 1);
    int queries = AttentionProblem.extent("q", q, 2);
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
        queries,
        capacity,
        d,
        dv,
        AttentionProblem.scale(attributes, d),
        window,
        pages,
        Mask.of(inputs, Shape.of(batch, heads), queries, capacity));
  }

  static int countable(String name, TensorType tensor, String what, long count) {
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

  Score score() {
    boolean bias = mask.map(Mask::dtype).filter(Mask::isBias).isPresent();
    return new Score(false, queries > 1, window > 0, false, bias);
  }

  TensorType out() {
    return TensorType.of(dtype, batch, heads, queries, dv);
  }

  /** Returns the first key that a query of a sequence sees. */
  int from(int length, int query) {
    return window == 0 ? 0 : Math.max(0, to(length, query) - window);
  }

  /** Returns the end, exclusive, of the keys that a query of a sequence sees. */
  int to(int length, int query) {
    return Math.max(0, length - queries + query + 1);
  }

  /** Returns the average number of keys that a query of a full sequence sees. */
  double visible() {
    return IntStream.range(0, queries)
        .map(query -> to(capacity, query) - from(capacity, query))
        .average()
        .orElseThrow();
  }
}
