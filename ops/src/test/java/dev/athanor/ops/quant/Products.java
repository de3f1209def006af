package dev.athanor.ops.quant;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** Runs ops with every kernel that could compute them. */
final class Products {

  private Products() {}

  /** The results of each plan, by its kernel. */
  static Map<String, Map<String, HostTensor>> all(
      Op op, Map<String, ?> attributes, Map<String, HostTensor> inputs) {
    var results = new LinkedHashMap<String, Map<String, HostTensor>>();
    var given = Attributes.of(op.description(), attributes);
    for (var plan : op.plans(Problems.types(inputs), given, TestDevices.H200)) {
      results.put(plan.kernel(), Runner.run(plan, inputs));
    }
    return results;
  }

  /** The results under one name of each plan. */
  static Map<String, double[]> all(
      Op op, Map<String, ?> attributes, Map<String, HostTensor> inputs, String output) {
    var results = new LinkedHashMap<String, double[]>();
    all(op, attributes, inputs)
        .forEach((kernel, outputs) ->
            results.put(kernel, Objects.requireNonNull(outputs.get(output)).toDoubles()));
    return results;
  }

  /** A tensor of one number. */
  static HostTensor filled(TensorType type, double value) {
    var values = new double[(int) type.shape().elements()];
    Arrays.fill(values, value);
    return HostTensor.of(type, values);
  }
}
