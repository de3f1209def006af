package dev.athanor.ops.attention.backward;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.AttentionSize;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/** Test cases of gradients for every dtype, mask and size. */
final class BackwardCases {

  private static final Map<String, ?> PLAIN = Map.of();
  private static final Map<String, ?> CAUSAL = Map.of("causal", true);

  /**
   * A gradient is compared by its norm. If q had one row and one column, the gradients of two keys
   * could cancel in the only element of dq, and the rounding of its terms exceed any tolerance.
   */
  private static final List<AttentionSize> BACKWARD =
      List.of(
          AttentionSize.oneHead(1, 2, 3, 1, PLAIN),
          AttentionSize.oneHead(17, 17, 19, 13, CAUSAL),
          AttentionSize.oneHead(33, 65, 36, 20, PLAIN),
          AttentionSize.oneHead(65, 63, 64, 64, CAUSAL),
          AttentionSize.oneHead(40, 70, 32, 32, Map.of("causal", true, "window", 9)),
          AttentionSize.oneHead(31, 100, 16, 16, Map.of("window", 33, "softcap", 3, "scale", 0.5)),
          AttentionSize.oneHead(16, 33, 128, 128, CAUSAL),
          AttentionSize.oneHead(13, 20, 256, 40, Map.of("causal", true, "softcap", 20)),
          AttentionSize.oneHead(17, 19, 24, 201, PLAIN),
          new AttentionSize(2, 4, 2, 17, 33, 32, 32, CAUSAL),
          new AttentionSize(2, 3, 1, 5, 18, 48, 16, PLAIN));

  private static final List<AttentionSize> QUICK_BACKWARD =
      List.of(
          AttentionSize.oneHead(17, 19, 19, 13, CAUSAL),
          new AttentionSize(
              2, 4, 2, 33, 31, 40, 36, Map.of("causal", true, "window", 7, "softcap", 5)));

  private BackwardCases() {}

  static List<Case> backward(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    for (var dtype : AttentionSize.DTYPES) {
      for (var size : AttentionSize.forDType(dtype, quick ? QUICK_BACKWARD : BACKWARD)) {
        cases.add(backward(draw, size, dtype));
      }
      cases.add(backward(draw, AttentionSize.oneHead(37, 20, 16, 16, CAUSAL), dtype));
    }
    return cases;
  }

  /**
   * Returns a case with out and lse of attention, computed in float64 and rounded as attention
   * rounds them.
   */
  static Case backward(Draw draw, AttentionSize size, DType dtype) {
    var inputs = new HashMap<>(size.draw(draw, dtype));
    inputs.put("grad", draw.normal(0, 1, size.of(dtype, size.heads(), size.sq(), size.dv())));
    var attributes = Attributes.of(new AttentionBackward().description(), size.given());
    inputs.putAll(forwardOutputs(inputs, attributes));
    var tolerance = AttentionBackward.tolerance(dtype);
    return new Case(inputs, attributes, Map.of("dq", tolerance, "dk", tolerance, "dv", tolerance));
  }

  /** Returns the outputs of attention as inputs of the gradients. */
  static Map<String, HostTensor> forwardOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var p = AttentionProblem.of(HostTensor.types(inputs), attributes);
    var outputs = AttentionReference.forward(inputs, attributes);
    return Map.of(
        "out", HostTensor.of(p.out(), Objects.requireNonNull(outputs.get("out")).all()),
        "lse", HostTensor.of(p.lse(), Objects.requireNonNull(outputs.get("lse")).all()));
  }
}
