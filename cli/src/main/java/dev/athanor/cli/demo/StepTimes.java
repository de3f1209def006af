package dev.athanor.cli.demo;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import tools.jackson.databind.JsonNode;

/**
 * The time of the steps of a call of a model, by op.
 *
 * @param device such as {@code cuda:0}
 * @param ops the slowest first
 */
record StepTimes(String device, List<Op> ops) {

  /**
   * The steps of an op.
   *
   * @param micros the time of their kernels
   */
  record Op(String name, int calls, double micros) {
    private Op plus(Op other) {
      return new Op(name, calls + other.calls, micros + other.micros);
    }
  }

  /** Adds up the steps of the answer to a call. */
  static StepTimes of(JsonNode answer) {
    var ops = new LinkedHashMap<String, Op>();
    for (var step : answer.path("steps")) {
      var name = step.path("op").asString();
      ops.merge(name, new Op(name, 1, step.path("kernelMicros").asDouble()), Op::plus);
    }
    var sorted = new ArrayList<>(ops.values());
    sorted.sort(Comparator.comparingDouble(Op::micros).reversed());
    return new StepTimes(answer.path("device").asString(), sorted);
  }

  double micros() {
    return ops.stream().mapToDouble(Op::micros).sum();
  }
}
