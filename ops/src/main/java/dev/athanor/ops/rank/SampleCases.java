package dev.athanor.ops.rank;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The test cases of sample. */
final class SampleCases {

  private final OpDescription description;
  private final Draw draw;
  private final List<Case> cases = new ArrayList<>();

  private SampleCases(OpDescription description, Draw draw) {
    this.description = description;
    this.draw = draw;
  }

  static List<Case> of(
      OpDescription description, Set<DType> dtypes, RandomGenerator random, boolean quick) {
    var cases = new SampleCases(description, new Draw(random));
    for (var dtype : quick ? List.of(DType.F16) : dtypes.stream().sorted().toList()) {
      cases.add(dtype, quick);
    }
    return cases.cases;
  }

  private void add(DType dtype, boolean quick) {
    add(draw.normal(dtype, 4, 1000), Map.of(), true);
    add(draw.normal(dtype, 3, 700), Map.of("topK", 50, "topP", 0.9, "temperature", 0.7), false);
    var penalties =
        Map.<String, Object>of(
            "repetitionPenalty", 1.3, "frequencyPenalty", 0.25, "presencePenalty", -0.5);
    addCounted(draw.normal(dtype, 3, 700), penalties, Map.of("topK", 50, "topP", 0.9));
    if (quick) {
      return;
    }
    addCounted(draw.normal(dtype, 2, 1001), penalties, Map.of());
    addCounted(draw.special(dtype, 6, 52), penalties, Map.of("temperature", 0));
    addCounted(draw.normal(dtype, 2, 4096), penalties, Map.of("minP", 0.05));
    addCounted(draw.normal(dtype, 2, 5000), Map.of("frequencyPenalty", 2), Map.of("topK", 1000));
    addCounted(draw.normal(dtype, 2, 40), Map.of(), Map.of());
    add(draw.normal(dtype, 2, 2053), Map.of("temperature", 1.5), false);
    add(draw.normal(dtype, 1, 1), Map.of(), false);
    add(draw.normal(dtype, 2, 4096), Map.of("minP", 0.05), true);
    add(draw.normal(dtype, 5, 33), Map.of("minP", 0.3, "temperature", 2), false);
    add(draw.special(dtype, 6, 51), Map.of("minP", 0.1), true);
    add(draw.integers(-3, 3, TensorType.of(dtype, 5, 77)), Map.of("temperature", 0), true);
    add(draw.special(dtype, 4, 128), Map.of("temperature", 0), false);
    add(draw.normal(dtype, 3, 300), Map.of("topK", 1), false);
    add(draw.normal(dtype, 2, 5000), Map.of("topK", 1000, "minP", 0.01), true);
    add(draw.normal(dtype, 2, 3001), Map.of("topP", 0.5), true);
    add(draw.normal(dtype, 3, 40), Map.of("topP", 0), false);
    add(draw.normal(dtype, 1, 100), Map.of("topK", 300, "topP", 0.99, "minP", 1), false);
    add(draw.special(dtype, 6, 60), Map.of("topK", 40, "topP", 0.8), true);
    add(draw.integers(-2, 2, TensorType.of(dtype, 4, 600)), Map.of("topP", 0.7), true);
  }

  /** Adds a case with counts, of which some are 0 or negative. */
  private void addCounted(
      HostTensor logits, Map<String, Object> penalties, Map<String, Object> others) {
    var attributes = new HashMap<>(penalties);
    attributes.putAll(others);
    add(logits, attributes, true);
    var inputs = new LinkedHashMap<>(cases.removeLast().inputs());
    inputs.put("counts", draw.integers(-1, 5, new TensorType(DType.I32, logits.type().shape())));
    cases.add(
        new Case(
            inputs, Attributes.of(description, attributes), Map.of("token", Tolerance.exact())));
  }

  /**
   * Adds a case.
   *
   * @param perRow whether each row has its own seed and counter; otherwise there is no counter
   */
  private void add(HostTensor logits, Map<String, Object> attributes, boolean perRow) {
    long rows = logits.type().shape().extent(0);
    var numbers = perRow ? TensorType.of(DType.I64, rows) : TensorType.of(DType.I64);
    var inputs = new LinkedHashMap<String, HostTensor>();
    inputs.put("logits", logits);
    inputs.put("seed", draw.integers(Long.MIN_VALUE, Long.MAX_VALUE - 1, numbers));
    if (perRow) {
      inputs.put("counter", draw.integers(0, 1L << 40, numbers));
    }
    cases.add(
        new Case(
            inputs, Attributes.of(description, attributes), Map.of("token", Tolerance.exact())));
  }
}
