package dev.athanor.ops.row.rope;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.row.RowShape;
import dev.athanor.ops.row.norm.Norm;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** An RMS norm over the hidden size, then a rotary embedding of each head. */
public final class NormRopeOp implements SampledOp {

  static final Attribute STYLE =
      Attribute.choice(
          "style",
          "half",
          List.of("half", "interleaved"),
          "pairing of elements. half: i and i + rotaryDim / 2. interleaved: 2i and 2i + 1");

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "rms-norm-rope",
          "Applies RMS normalization over all heads of a position, then rotary position"
              + " embedding to each head.",
          List.of(
              new Input(
                  "x",
                  "[…, S, N]",
                  RowShape.DTYPES,
                  false,
                  "the input, one row per position; N = heads · headDim"),
              new Input(
                      "weight",
                      "[N]",
                      RowShape.DTYPES,
                      true,
                      "scale factor of each column, default 1")
                  .or("gamma")
                  .like("x", DType.F32),
              new Input(
                      "cos",
                      "[P, headDim/2]",
                      RowShape.DTYPES,
                      false,
                      "cosine table, one row per position (P ≥ S)")
                  .like("x", DType.F32),
              new Input("sin", "[P, headDim/2]", RowShape.DTYPES, false, "sine table").like("cos")),
          List.of(
              Attribute.integer("heads", "number of heads; may be omitted if headDim is given")
                  .from(1, Integer.MAX_VALUE),
              Attribute.integer(
                      "headDim", "number of elements per head; default row length / heads")
                  .from(2, Integer.MAX_VALUE),
              Norm.RMS.epsilon(),
              STYLE),
          List.of(Output.of("y", "[…, S, N]", "same as x", "the normalized and rotated rows")),
          "h = weight · x / √(mean(x²) + epsilon); pairs (a, b) of h become (a · cos - b · sin, b · cos + a · sin)",
          "7·heads·headDim per position");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  static boolean interleaved(Attributes attributes) {
    return attributes.choice("style").equals("interleaved");
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", problem(inputs, attributes).x().tensor());
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = problem(inputs, attributes);
    return problem.plans("rms-norm-rope of " + problem.x().dtype().text(), inputs, capability);
  }

  private static RopeProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var x = RowShape.of(inputs, "x");
    if (!attributes.has("heads") && !attributes.has("headDim")) {
      throw new OpException.InvalidAttribute("heads", "rms-norm-rope requires heads or headDim");
    }
    long headDim =
        attributes.has("headDim")
            ? attributes.integer("headDim")
            : x.n() / attributes.integer("heads");
    long heads =
        attributes.has("heads") ? attributes.integer("heads") : x.n() / Math.max(1, headDim);
    if (heads * headDim != x.n() || headDim % 2 != 0) {
      throw new OpException.InvalidAttribute(
          "headDim",
          "%d heads of size %d do not match rows of %d elements; heads · headDim must equal the row length, and headDim must be even"
              .formatted(heads, headDim, x.n()));
    }
    int sequence = (int) call.extent("S");
    return new RopeProblem(
        x,
        (int) headDim,
        interleaved(attributes),
        Optional.of(
            new RopeProblem.Norm(
                Optional.of("weight").filter(call::has).map(call::dtype),
                attributes.number("epsilon"))),
        RopeTables.given(call, sequence, sequence, (int) headDim / 2));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var types = HostTensor.types(inputs);
    var problem = problem(types, attributes);
    var shape = problem.x();
    int n = shape.n();
    var x = TensorReader.of(inputs, "x");
    var weight = TensorReader.of(inputs, "weight", 1);
    return Map.of(
        "y",
        ReferenceOutput.ofRows(
            shape.rows(),
            n,
            row -> {
              var h = x.get(row * n, n);
              var statistics = Norm.RMS.reference(h, attributes.number("epsilon"));
              for (int j = 0; j < n; j++) {
                h[j] = statistics.apply(h[j]) * weight.applyAsDouble(j);
              }
              return problem.rotate(h, row, inputs);
            }));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return RopeCases.withNorm(this, random, quick);
  }
}
