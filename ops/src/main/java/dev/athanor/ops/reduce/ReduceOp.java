package dev.athanor.ops.reduce;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * An op that reduces all numbers along some dimensions to one.
 *
 * @param reduction returns the reduction for the attributes of a call
 */
record ReduceOp(OpDescription description, Function<Attributes, Reduction> reduction)
    implements SampledOp {

  private ReduceProblem problem(TensorType x, Attributes attributes) {
    return ReduceProblem.of(reduction.apply(attributes), x, attributes);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", problem(x(inputs), attributes).output());
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var neutral = problem(x(inputs), attributes).reduction().neutral();
    return neutral.isPresent()
        ? Neutral.plans(this, inputs, attributes, neutral.getAsDouble(), capability)
        : SampledOp.super.plansWithoutElements(inputs, attributes, capability);
  }

  private static TensorType x(Map<String, TensorType> inputs) {
    return Objects.requireNonNull(inputs.get("x"));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    return ReducePlanner.plans(description.name(), problem(x, attributes), capability);
  }

  /** The rows of a reduction of the last dimension. */
  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    return problem(x, attributes).reducesRows()
        ? Optional.of(new Rows(Set.of("x"), true))
        : Optional.empty();
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var problem = problem(x.type(), attributes);
    var in = x.type().dtype();
    var axes = problem.axes();
    long count = axes.count();
    var reference = new ReferenceReduction(problem.reduction(), in, problem.correction());
    long elements = problem.output().shape().elements();
    if (!in.isFloat()) {
      return Map.of(
          "y",
          ReferenceOutput.ofElements(
              elements,
              i -> reference.ofIntegers(count, j -> in.readLong(x.data(), axes.index(i, j)))));
    }
    var reader = TensorReader.of(inputs, "x");
    var dtype = problem.output().dtype();
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            elements,
            i -> {
              double exact = reference.ofFloats(count, j -> reader.get(axes.index(i, j)));
              return dtype.isFloat() && Math.abs(exact) >= dtype.overflow()
                  ? Math.copySign(Double.POSITIVE_INFINITY, exact)
                  : exact;
            }));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return new ReduceCases(this, random, quick).all();
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return switch (reduction.apply(attributes)) {
      case MAX, MIN, ANY, ALL, ARGMAX, ARGMAX_LAST, ARGMIN, ARGMIN_LAST -> Tolerance.exact();
      case SUM, MEAN, PROD, L1, L2, SUM_SQUARE, VARIANCE, STD -> Tolerances.ofSums(dtype);
      case LOG_SUM, LOG_SUM_EXP -> Tolerances.ofLogarithms(dtype);
    };
  }
}
