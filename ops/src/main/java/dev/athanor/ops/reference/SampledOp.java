package dev.athanor.ops.reference;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** An op whose reference can compute some elements of an output without the others. */
public interface SampledOp extends Op {

  /**
   * Returns the outputs in float64 from the given (already rounded) inputs, computed as simply as
   * possible.
   */
  Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes);

  @Override
  default Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    var all = new LinkedHashMap<String, double[]>();
    referenceOutputs(inputs, attributes).forEach((name, output) -> all.put(name, output.all()));
    return all;
  }

  @Override
  default double[] reference(
      Map<String, HostTensor> inputs, Attributes attributes, String output, long[] elements) {
    var outputs = referenceOutputs(inputs, attributes);
    return Objects.requireNonNull(outputs.get(output), output).at(elements);
  }
}
