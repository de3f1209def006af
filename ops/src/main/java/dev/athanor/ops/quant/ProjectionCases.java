package dev.athanor.ops.quant;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Products with quantised weights, of awkward sizes. */
final class ProjectionCases {

  private ProjectionCases() {}

  static List<Case> gguf(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var blocks = new QuantDraw(random);
    var cases = new ArrayList<Case>();
    var formats = BlockFormat.GGML.stream().sorted().toList();
    int[][] sizes = quick ? new int[][] {{2, 5, 1}} : new int[][] {{1, 13, 3}, {3, 7, 1}, {17, 9, 2}};
    int turn = 0;
    for (var format : formats) {
      for (var size : sizes) {
        // each type of a in turn
        var in = turn++ % 2 == 0 ? DType.F32 : DType.F16;
        int k = size[2] * format.blockElements();
        cases.add(
            new Case(
                Map.of(
                    "a", draw.normal(in, size[0], k),
                    "w", blocks.blocks(format, size[1], k)),
                Attributes.of(new MatmulGguf().description(), Map.of()),
                Map.of("c", Tolerance.relative(1e-3))));
      }
    }
    return cases;
  }
}
