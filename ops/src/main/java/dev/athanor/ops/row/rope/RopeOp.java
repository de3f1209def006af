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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/** Rotary position embedding. */
public final class RopeOp implements SampledOp {

  /** Maximum number of angles of a computed table, so that 32-bit indices suffice. */
  private static final long MOST_ANGLES = 1L << 30;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "rope",
          "Applies rotary position embedding (RoPE) to each head.",
          List.of(
              new Input(
                  "x", "[…, S, H, D]", RowShape.DTYPES, false, "the input: S positions of H heads"),
              new Input(
                      "cos",
                      "[P, rotaryDim/2]",
                      RowShape.DTYPES,
                      true,
                      "cosine table, one row per position; omit it if theta is given")
                  .like("x", DType.F32),
              new Input("sin", "[P, rotaryDim/2]", RowShape.DTYPES, true, "sine table").like("cos"),
              new Input(
                  "positions",
                  "[S] or […, S]",
                  Set.of(DType.I32),
                  true,
                  "position ids, the row indices into cos and sin; default 0 to S - 1."
                      + " Out-of-range ids yield NaN")),
          List.of(
              Attribute.number(
                      "theta",
                      "base of the angles, instead of cos and sin: angle i of position p is p ·"
                          + " theta^(-2i / rotaryDim)")
                  .from(1, 1e30),
              NormRopeOp.STYLE,
              Attribute.integer(
                      "rotaryDim",
                      "number of elements of each head to rotate; default D. The others are copied")
                  .from(2, Integer.MAX_VALUE)),
          List.of(Output.of("y", "[…, S, H, D]", "same as x", "the rotated tensor")),
          "(a, b) becomes (a · cos - b · sin, b · cos + a · sin)",
          "3·rotaryDim per head");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", problem(inputs, attributes).x().tensor());
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    // a row is all heads of a position
    var problem = problem(inputs, attributes);
    return problem.plans("rope of " + problem.x().dtype().text(), inputs, capability);
  }

  private static RopeProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var x = RowShape.of(inputs, "x", 2);
    var shape = x.tensor().shape();
    int headDim = (int) shape.extent(-1);
    int sequence = (int) shape.extent(-3);
    long rotary = attributes.has("rotaryDim") ? attributes.integer("rotaryDim") : headDim;
    if (rotary % 2 != 0 || rotary > headDim) {
      throw new OpException.InvalidAttribute(
          "rotaryDim",
          "rotaryDim is %d; it must be even, from 2 to D = %d".formatted(rotary, headDim));
    }
    int half = (int) rotary / 2;
    long period = call.has("positions") ? call.type("positions").shape().elements() : sequence;
    return new RopeProblem(
        x,
        headDim,
        NormRopeOp.interleaved(attributes),
        Optional.empty(),
        tables(call, attributes, sequence, (int) period, half));
  }

  private static RopeTables tables(
      BoundInputs call, Attributes attributes, int sequence, int period, int half) {
    boolean cos = call.has("cos");
    if (cos != call.has("sin")) {
      throw new OpException.MissingInput(
          cos ? "sin" : "cos", "cos and sin must be given together; give both, or theta instead");
    }
    if (cos == attributes.has("theta")) {
      throw new OpException.InvalidAttribute(
          "theta",
          cos
              ? "theta and cos are both given; give either theta, or cos and sin"
              : "neither theta nor cos is given; give either theta, or cos and sin");
    }
    if (cos) {
      return RopeTables.given(call, sequence, period, half);
    }
    if ((long) period * half > MOST_ANGLES) {
      throw new OpException.TooLarge(
          "x",
          "a table of %d positions with %d angles each exceeds the maximum of %d angles; give cos and sin instead"
              .formatted(period, half, MOST_ANGLES));
    }
    return new RopeTables(
        call.dtype("x") == DType.F64 ? DType.F64 : DType.F32,
        period,
        half,
        period,
        call.has("positions"),
        Optional.of(attributes.number("theta")));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var types = HostTensor.types(inputs);
    var problem = problem(types, attributes);
    var shape = problem.x();
    var x = TensorReader.of(inputs, "x");
    int n = shape.n();
    return Map.of(
        "y",
        ReferenceOutput.ofRows(
            shape.rows(), n, row -> problem.rotate(x.get(row * n, n), row, inputs)));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return RopeCases.of(this, random, quick);
  }
}
