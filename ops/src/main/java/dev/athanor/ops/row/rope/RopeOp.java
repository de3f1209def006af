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
                  "x", "[…, S, H, D]", RowShape.SINGLE, false, "the input: S positions of H heads"),
              new Input(
                  "cos",
                  "[P, rotaryDim / 2]",
                  RowShape.SINGLE,
                  true,
                  "cosine table, one row per position; same dtype as x, or f32. Omit it if theta"
                      + " is given"),
              new Input(
                  "sin",
                  "[P, rotaryDim / 2]",
                  RowShape.SINGLE,
                  true,
                  "sine table; same shape and dtype as cos"),
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
    var x = RowShape.of(inputs, "x", 2);
    problem(x, inputs, attributes);
    return Map.of("y", x.tensor());
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    // a row is all heads of a position
    var x = RowShape.of(inputs, "x", 2);
    var problem = problem(x, inputs, attributes);
    return problem.plans("rope of " + x.dtype().text(), inputs, capability);
  }

  private static RopeProblem problem(
      RowShape x, Map<String, TensorType> inputs, Attributes attributes) {
    var shape = x.tensor().shape();
    if (shape.rank() < 3) {
      throw new OpException.ShapeMismatch(
          "x", "input \"x\" has shape %s; it must be […, S, H, D]".formatted(shape));
    }
    int headDim = (int) shape.extent(-1);
    int sequence = (int) shape.extent(-3);
    long rotary = attributes.has("rotaryDim") ? attributes.integer("rotaryDim") : headDim;
    if (rotary % 2 != 0 || rotary > headDim) {
      throw new OpException.InvalidAttribute(
          "rotaryDim",
          "rotaryDim is %d; it must be even, from 2 to D = %d".formatted(rotary, headDim));
    }
    int half = (int) rotary / 2;
    int period = period(x, inputs, sequence);
    return new RopeProblem(
        x,
        headDim,
        NormRopeOp.interleaved(attributes),
        Optional.empty(),
        tables(x, inputs, attributes, sequence, period, half));
  }

  /** Returns the number of rows after which the positions repeat. */
  private static int period(RowShape x, Map<String, TensorType> inputs, int sequence) {
    var positions = inputs.get("positions");
    if (positions == null) {
      return sequence;
    }
    var all = x.tensor().shape().leading(2);
    var shape = positions.shape();
    if (!shape.equals(all) && !(shape.rank() == 1 && shape.extent(0) == sequence)) {
      throw new OpException.ShapeMismatch(
          "positions",
          "positions has shape %s; it must be [S] = [%d] or […, S] = %s"
              .formatted(shape, sequence, all));
    }
    return (int) shape.elements();
  }

  private static RopeTables tables(
      RowShape x,
      Map<String, TensorType> inputs,
      Attributes attributes,
      int sequence,
      int period,
      int half) {
    boolean cos = inputs.containsKey("cos");
    if (cos != inputs.containsKey("sin")) {
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
      return RopeTables.given(x, inputs, sequence, period, half, "[P, rotaryDim / 2]");
    }
    if ((long) period * half > MOST_ANGLES) {
      throw new OpException.TooLarge(
          "x",
          "a table of %d positions with %d angles each exceeds the maximum of %d angles; give cos and sin instead"
              .formatted(period, half, MOST_ANGLES));
    }
    return new RopeTables(
        DType.F32,
        period,
        half,
        period,
        inputs.containsKey("positions"),
        Optional.of(attributes.number("theta")));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var types = HostTensor.types(inputs);
    var shape = RowShape.of(types, "x", 2);
    var problem = problem(shape, types, attributes);
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
