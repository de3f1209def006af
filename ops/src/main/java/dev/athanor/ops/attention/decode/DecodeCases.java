package dev.athanor.ops.attention.decode;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.AttentionSize;
import dev.athanor.ops.attention.Mask;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Test cases of caches of every dtype, layout and length. Elements beyond a length are NaN and must
 * not contribute.
 */
final class DecodeCases {

  /**
   * The size of a test case.
   *
   * @param queries of a sequence
   * @param mask the dtype of a mask; empty for none
   * @param capacity of a contiguous cache
   * @param blockSize of a paged cache; 0 for a contiguous one
   */
  private record Size(
      int queries,
      Optional<DType> mask,
      int heads,
      int sharedHeads,
      int capacity,
      int d,
      int dv,
      int blockSize,
      Map<String, ?> given,
      List<Integer> lengths) {

    /** Creates a size with one query. */
    Size(
        int heads,
        int sharedHeads,
        int capacity,
        int d,
        int dv,
        int blockSize,
        Map<String, ?> given,
        List<Integer> lengths) {
      this(1, Optional.empty(), heads, sharedHeads, capacity, d, dv, blockSize, given, lengths);
    }

    /** Returns this size with several queries. */
    Size of(int several) {
      return new Size(
          several, mask, heads, sharedHeads, capacity, d, dv, blockSize, given, lengths);
    }

    Size masked(DType dtype) {
      return new Size(
          queries,
          Optional.of(dtype),
          heads,
          sharedHeads,
          capacity,
          d,
          dv,
          blockSize,
          given,
          lengths);
    }
  }

  private static final List<Size> FULL =
      List.of(
          new Size(1, 1, 1, 1, 1, 0, Map.of(), List.of(1)),
          new Size(4, 2, 40, 32, 32, 0, Map.of(), List.of(1, 31, 33)),
          new Size(4, 1, 300, 64, 64, 0, Map.of("scale", 0.3), List.of(32, 300)),
          new Size(18, 1, 150, 40, 24, 0, Map.of("window", 17), List.of(149, 9)),
          new Size(2, 2, 9, 13, 7, 0, Map.of(), List.of(0, 5, 20)),
          new Size(4, 2, 40, 128, 128, 8, Map.of(), List.of(33, 1, 40)),
          new Size(4, 2, 320, 64, 32, 16, Map.of("window", 100), List.of(305, 17)),
          new Size(2, 1, 21, 256, 256, 7, Map.of(), List.of(15)),
          new Size(3, 3, 30, 101, 70, 5, Map.of(), List.of(30, 0)),
          new Size(4, 2, 300, 32, 24, 0, Map.of(), List.of(300, 3)).of(5),
          new Size(4, 1, 160, 64, 64, 16, Map.of("window", 60), List.of(150, 2)).of(4),
          new Size(2, 1, 150, 64, 64, 0, Map.of(), List.of(149, 77)).of(70),
          new Size(2, 2, 90, 20, 20, 15, Map.of(), List.of(90, 40)).of(33),
          new Size(4, 2, 140, 32, 32, 0, Map.of(), List.of(140, 9)).masked(DType.BOOL),
          new Size(4, 2, 96, 32, 32, 16, Map.of(), List.of(50, 90)).of(3).masked(DType.F32),
          new Size(2, 1, 40, 576, 512, 0, Map.of(), List.of(33, 40)),
          new Size(3, 1, 40, 576, 512, 8, Map.of(), List.of(40, 6)).of(2));

  private static final List<Size> QUICK =
      List.of(
          new Size(4, 2, 260, 32, 24, 0, Map.of(), List.of(1, 259)),
          new Size(4, 2, 40, 64, 64, 8, Map.of("window", 9), List.of(33, 1)),
          new Size(4, 2, 140, 32, 32, 0, Map.of(), List.of(133, 2)).of(3),
          new Size(4, 2, 40, 16, 16, 8, Map.of(), List.of(33, 1)).of(2).masked(DType.BOOL));

  private DecodeCases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16)) {
      for (var size : AttentionSize.forDType(dtype, quick ? QUICK : FULL)) {
        cases.add(make(random, dtype, size));
      }
      cases.add(largeScores(new Draw(random), dtype));
    }
    return cases;
  }

  private static Case make(RandomGenerator random, DType dtype, Size size) {
    var draw = new Draw(random);
    int batch = size.lengths.size();
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("q", draw.normal(dtype, batch, size.heads, size.queries, size.d));
    var lengths = HostTensor.zeros(TensorType.of(DType.I32, batch));
    for (int b = 0; b < batch; b++) {
      DType.I32.writeLong(lengths.data(), b, size.lengths.get(b));
    }
    inputs.put("lengths", lengths);
    int first = batch;
    int rows = size.capacity;
    if (size.blockSize > 0) {
      int maxBlocks = size.capacity / size.blockSize;
      first = batch * maxBlocks + 1;
      rows = size.blockSize;
      inputs.put("blockTable", table(random, batch, maxBlocks, first));
    }
    inputs.put("kCache", draw.normal(dtype, first, size.sharedHeads, rows, size.d));
    inputs.put("vCache", draw.normal(dtype, first, size.sharedHeads, rows, size.dv));
    size.mask.ifPresent(of ->
        inputs.put(
            Mask.NAME, mask(draw, TensorType.of(of, batch, 1, size.queries, size.capacity))));
    var attributes = Attributes.of(new AttentionDecode().description(), size.given);
    poisonUnused(inputs, attributes);
    return of(inputs, attributes, dtype);
  }

  /**
   * Returns a case whose splits of the keys have equal scores, beside which f32 loses their sums.
   */
  private static Case largeScores(Draw draw, DType dtype) {
    var drawn =
        new AttentionSize(1, 2, 1, 1, 700, 64, 16, Map.of()).drawLargeScores(draw, dtype, 1);
    var inputs =
        Map.of(
            "q", AttentionReference.tensor(drawn, "q"),
            "kCache", AttentionReference.tensor(drawn, "k"),
            "vCache", AttentionReference.tensor(drawn, "v"),
            "lengths", draw.integers(700, 700, TensorType.of(DType.I32, 1)));
    return of(inputs, Attributes.of(new AttentionDecode().description(), Map.of()), dtype);
  }

  private static Case of(Map<String, HostTensor> inputs, Attributes attributes, DType dtype) {
    return new Case(inputs, attributes, Map.of("out", AttentionProblem.tolerance(dtype)));
  }

  /** Returns a mask that hides every third key. */
  private static HostTensor mask(Draw draw, TensorType type) {
    boolean bias = Mask.isBias(type.dtype());
    var mask = bias ? draw.normal(0, 1, type) : draw.integers(1, 1, type);
    for (long at = 0; at < type.shape().elements(); at += 3) {
      type.dtype().write(mask.data(), at, bias ? Double.NEGATIVE_INFINITY : 0);
    }
    return mask;
  }

  /** Returns a block table in random order. */
  private static HostTensor table(RandomGenerator random, int batch, int maxBlocks, int blocks) {
    var order = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      int at = random.nextInt(i + 1);
      order[i] = order[at];
      order[at] = i;
    }
    var table = HostTensor.zeros(TensorType.of(DType.I32, batch, maxBlocks));
    for (int i = 0; i < batch * maxBlocks; i++) {
      DType.I32.writeLong(table.data(), i, order[i]);
    }
    return table;
  }

  /** Sets all keys and values beyond the lengths to NaN. */
  private static void poisonUnused(Map<String, HostTensor> inputs, Attributes attributes) {
    for (var name : List.of("kCache", "vCache")) {
      var cache = AttentionReference.tensor(inputs, name);
      int columns = (int) cache.type().shape().extent(-1);
      var known = DecodeReference.cachedRows(inputs, attributes);
      for (int row = 0; row < cache.type().shape().elements() / columns; row++) {
        if (!known.contains(row)) {
          for (int c = 0; c < columns; c++) {
            cache.type().dtype().write(cache.data(), (long) row * columns + c, Double.NaN);
          }
        }
      }
    }
  }
}
