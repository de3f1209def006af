package dev.athanor.ops.indexing;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.random.RandomGenerator;

/**
 * An op that gathers elements or slices.
 *
 * @param find returns the checked indices of a call
 * @param problems its cases, as {@link IndexingCases#of} takes them
 */
record GatherIndexedOp(
    OpDescription description,
    BiFunction<Map<String, TensorType>, Attributes, Indices> find,
    List<String> problems)
    implements SampledOp {

  static final List<DType> DTYPES =
      List.of(
          DType.F32,
          DType.U8,
          DType.F16,
          DType.I64,
          DType.BOOL,
          DType.BF16,
          DType.I32,
          DType.F64,
          DType.E5M2);

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var named = find.apply(inputs, attributes).named();
    return Map.of("y", Checks.output("y", type(inputs, Indices.X).dtype(), named));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var indices = find.apply(inputs, attributes);
    var x = type(inputs, Indices.X);
    return new GatherPlanner(Indices.X, x, indices.lookup())
        .plans(
            description.name(),
            type(inputs, Indices.INDEX),
            Checks.output("y", x.dtype(), indices.named()),
            capability);
  }

  private static TensorType type(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var indices = find.apply(HostTensor.types(inputs), attributes);
    var x = Objects.requireNonNull(inputs.get(Indices.X));
    var index = Objects.requireNonNull(inputs.get(Indices.INDEX));
    long width = indices.width();
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            indices.named().elements(),
            i -> {
              long slice = indices.slice(index, i / width);
              return slice < 0 ? 0 : x.get(slice * width + i % width);
            }));
  }

  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    return Map.of(
        Indices.X,
        IndexingCases.elements(draw, type(inputs, Indices.X)),
        Indices.INDEX,
        find.apply(inputs, attributes).draw(type(inputs, Indices.INDEX), draw));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return IndexingCases.of(this, random, problems, DTYPES, quick ? 1 : 3);
  }
}
