package dev.athanor.ops;

import dev.athanor.engine.device.Capability;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;

/** An operation on tensors, contributed by an {@link OpProvider}. */
public interface Op {

  /** Returns the description, from which the documentation, among others, is generated. */
  OpDescription description();

  /**
   * Returns the plans that this device can run, the one expected to be fastest first. Pure and
   * cheap: equal arguments give equal plans, and no device is accessed.
   *
   * @param inputs the given inputs, with checked names and dtypes
   * @return at least one plan
   * @throws OpException if the inputs are incompatible or the device cannot compute the op
   */
  List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability);

  /**
   * Returns the types of the outputs if an input has no elements, after the checks of {@link
   * #plans}, which is not called then.
   *
   * @throws OpException if the inputs are incompatible, or, by default, because the op requires
   *     elements
   */
  default Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    throw new Problem(this, inputs, attributes).requiresElements();
  }

  /**
   * Returns the plans for outputs of which some have elements although an input has none: those of
   * the mathematical result, such as 0 for a sum.
   *
   * @throws OpException if there is none, as for a maximum, which is the default
   */
  default List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    throw new Problem(this, inputs, attributes).requiresElements();
  }

  /** Returns the first of {@link #plans}. */
  default Plan plan(Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return plans(inputs, attributes, capability).getFirst();
  }

  /**
   * Returns the inputs to concatenate for batching runs that differ in their number of rows.
   *
   * @param inputs valid inputs, as checked by {@link #plans}
   * @return empty if each run needs its own launch
   */
  default Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.empty();
  }

  /**
   * Returns whether an output may share the memory of an input of the same type. This requires
   * that, in every kernel, only the thread that writes an element reads that element of the input,
   * and that it reads before it writes.
   *
   * @param input name of the input
   */
  default boolean mayReplace(String input) {
    return false;
  }

  /**
   * Computes the outputs in float64 from the given (already rounded) inputs, as simply as possible.
   * Kernels are checked against this reference.
   */
  Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes);

  /**
   * Returns random inputs of the given types for timing, tuning and samples: normally distributed
   * numbers, and zeros and ones for integers. An op whose integers are indices or lengths overrides
   * this.
   */
  default Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) -> drawn.put(name, draw.usual(type)));
    return drawn;
  }

  /**
   * Returns some elements of an output in float64. The default computes the whole reference; ops
   * with an expensive reference implement {@link dev.athanor.ops.reference.SampledOp}.
   *
   * @param elements row-major indices
   */
  default double[] reference(
      Map<String, HostTensor> inputs, Attributes attributes, String output, long[] elements) {
    var all = Objects.requireNonNull(reference(inputs, attributes).get(output), output);
    return LongStream.of(elements).mapToDouble(i -> all[Math.toIntExact(i)]).toArray();
  }

  /**
   * Returns the tolerance of an output for inputs from {@link #draw}. The default is the usual
   * tolerance of the dtype.
   *
   * @param dtype of the output
   */
  default Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.usual(dtype);
  }

  /**
   * Returns test cases that exercise every variant of the op, including awkward sizes.
   *
   * @param random source of the inputs, so that a seed reproduces them
   * @param quick whether to return only a few cases, which take seconds on the emulator
   */
  List<Case> cases(RandomGenerator random, boolean quick);

  /**
   * A test case.
   *
   * @param tolerances the tolerance of each output, by name
   */
  record Case(
      Map<String, HostTensor> inputs, Attributes attributes, Map<String, Tolerance> tolerances) {
    public Case {
      inputs = Map.copyOf(inputs);
      tolerances = Map.copyOf(tolerances);
    }

    /** Returns the tolerance of an output. */
    public Tolerance tolerance(String output) {
      return Objects.requireNonNull(tolerances.get(output), output);
    }
  }
}
