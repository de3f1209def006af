package dev.athanor.ops;

import dev.athanor.engine.device.Capability;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;

/** An operation on tensors. An {@link OpProvider} brings it. */
public interface Op {

  /** What the op is, for people and for whatever is generated from it. */
  OpDescription description();

  /**
   * The ways in which this device can compute the op, the one that should be fastest first. Pure
   * and cheap: equal arguments give equal plans, and no device is touched.
   *
   * @param inputs the inputs that were given; their names and dtypes have been checked
   * @return at least one plan
   * @throws OpException when the inputs do not go together or the device cannot compute them
   */
  List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability);

  /** The first of {@link #plans}. */
  default Plan plan(Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return plans(inputs, attributes, capability).getFirst();
  }

  /**
   * How runs of this problem can share a launch with runs that have another number of rows.
   *
   * @param inputs that go together, as {@link #plans} has found
   * @return empty when each run needs its own
   */
  default Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.empty();
  }

  /**
   * Whether an output may lie where an input of the same type lies: in every kernel the thread that
   * writes an element is the only one that reads that element of the input, and reads it before.
   */
  default boolean worksInPlace() {
    return false;
  }

  /**
   * Computes the outputs in float64 from the given (already rounded) inputs, as plainly as
   * possible: what kernels are checked against.
   */
  Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes);

  /**
   * Inputs of the given types with which the op can be timed, tuned and sampled: normally
   * distributed numbers, and zeros and ones where integers are taken. An op for which those are no
   * sense, since they are indices or lengths, draws its own.
   */
  default Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) -> drawn.put(name, draw.usual(type)));
    return drawn;
  }

  /**
   * Some elements of an output in float64. An op whose whole reference is dear overrides this; the
   * others compute it all.
   *
   * @param elements row-major indices
   */
  default double[] reference(
      Map<String, HostTensor> inputs, Attributes attributes, String output, long[] elements) {
    var all = Objects.requireNonNull(reference(inputs, attributes).get(output), output);
    return LongStream.of(elements).mapToDouble(i -> all[Math.toIntExact(i)]).toArray();
  }

  /**
   * How far an output may be off where inputs are as {@link #draw} has them: what is usual for its
   * dtype, unless the op knows better.
   *
   * @param dtype of the output
   */
  default Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.usual(dtype);
  }

  /**
   * Cases that exercise every variant of the op, awkward sizes among them.
   *
   * @param random where inputs come from, so that a seed repeats them
   * @param quick a handful that take seconds on the emulator, instead of all
   */
  List<Case> cases(RandomGenerator random, boolean quick);

  /**
   * A problem to check.
   *
   * @param tolerances how far each output may be off, by its name
   */
  record Case(
      Map<String, HostTensor> inputs, Attributes attributes, Map<String, Tolerance> tolerances) {
    public Case {
      inputs = Map.copyOf(inputs);
      tolerances = Map.copyOf(tolerances);
    }

    /** How far an output may be off. */
    public Tolerance tolerance(String output) {
      return Objects.requireNonNull(tolerances.get(output), output);
    }
  }
}
