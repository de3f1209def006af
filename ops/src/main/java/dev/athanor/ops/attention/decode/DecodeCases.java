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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * Test cases of caches of every dtype, layout and length. Elements beyond a length are NaN and must
 * not contribute.
 */
final class DecodeCases {

  /**
   * The size of a test case.
   *
   * @param capacity of a contiguous cache
   * @param blockSize of a paged cache; 0 for a contiguous one
   */
  private record Size(
      int heads,
      int sharedHeads,
      int capacity,
      int d,
      int dv,
      int blockSize,
      Map<String, ?> given,
      List<Integer> lengths) {}

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
          new Size(3, 3, 30, 101, 70, 5, Map.of(), List.of(30, 0)));

  private static final List<Size> QUICK =
      List.of(
          new Size(4, 2, 260, 32, 24, 0, Map.of(), List.of(1, 259)),
          new Size(4, 2, 40, 64, 64, 8, Map.of("window", 9), List.of(33, 1)));

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
    inputs.put("q", draw.normal(dtype, batch, size.heads, 1, size.d));
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
