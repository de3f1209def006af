package dev.athanor.ops.elementwise;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Runs ops of this package on the emulator. */
final class Runs {

  private Runs() {}

  static Op op(String name) {
    return new ElementwiseOps()
        .ops().stream()
            .filter(op -> op.description().name().equals(name))
            .findFirst()
            .orElseThrow();
  }

  static List<? extends Plan> plans(
      String name, Map<String, TensorType> inputs, Map<String, ?> attributes) {
    var op = op(name);
    return op.plans(inputs, Attributes.of(op.description(), attributes), TestDevices.H200);
  }

  /** The output {@code y} of the plan that comes first. */
  static HostTensor run(String name, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var types = new HashMap<String, TensorType>();
    inputs.forEach((input, tensor) -> types.put(input, tensor.type()));
    return run(plans(name, types, attributes).getFirst(), inputs);
  }

  /** The output {@code y} of a plan. */
  static HostTensor run(Plan plan, Map<String, HostTensor> inputs) {
    return Objects.requireNonNull(Runner.run(plan, inputs).get("y"));
  }
}
