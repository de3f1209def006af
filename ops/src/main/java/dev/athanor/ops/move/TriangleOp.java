package dev.athanor.ops.move;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.map.ElementwiseSteps;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Keeps one triangle of matrices and zeros the other, as ONNX's Trilu does. */
public final class TriangleOp extends CopyOp {

  public TriangleOp() {
    super(
        describe(
            "triangle",
            "Copies the lower or the upper triangle of matrices; the other elements are 0.",
            "[…, R, C]",
            "[…, R, C]",
            "y[…, r, c] = x[…, r, c] if c − r ≤ diagonal (lower) or c − r ≥ diagonal (upper), or 0",
            List.of(
                Attribute.integer(
                    "diagonal", 0, "the diagonal, counted from the main one to the right"),
                Attribute.choice(
                    "part",
                    "lower",
                    List.of("lower", "upper"),
                    "the triangle to keep, with its diagonal"))),
        "x=[16,16]",
        "x=[5,7] part=upper",
        "x=[2,9,32] diagonal=-3",
        "x=[2,9,32] diagonal=5 part=upper",
        "x=[3,4,6] diagonal=100",
        "x=[3,4,6] diagonal=100 part=upper",
        "x=[1,40] diagonal=12",
        "x=[40,2] diagonal=-7 part=upper");
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    if (x.rank() < 2) {
      throw new OpException.ShapeMismatch("x", "x has shape %s; it must be […, R, C]".formatted(x));
    }
    return Map.of("y", x);
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    return List.of();
  }

  @Override
  List<? extends Plan> plans(
      Map<String, TensorType> inputs,
      Attributes attributes,
      Map<String, TensorType> outputs,
      Capability capability) {
    var x = x(inputs);
    int bytes = x.dtype().bytes();
    int columns = Checks.requireExtent("x", x, x.shape().extent(-1));
    int rows = Checks.requireExtent("x", x, x.shape().extent(-2));
    var variant =
        new TriangleVariant(
            bytes,
            attributes.choice("part").equals("upper"),
            (int) Long.lowestOneBit(columns | TransposeVariant.widest(bytes)));
    int diagonal = Math.clamp(attributes.integer("diagonal"), -rows, columns);
    var steps = steps(x, variant, diagonal, ElementwiseSteps.MOST);
    var cost = Plan.Cost.of(0, inputs, outputs);
    var candidates = new Candidates("triangle of " + x.dtype().text(), capability);
    candidates.offer(
        variant.name(),
        Machine.of(capability).streaming(steps.size(), cost.bytes()),
        "%d launches".formatted(steps.size()),
        steps,
        0);
    return candidates.plans(outputs, cost);
  }

  /**
   * Returns the launches, each for whole matrices or for a part of one.
   *
   * @param most maximum number of elements per launch, unless a row has more
   */
  static List<Step> steps(TensorType x, TriangleVariant variant, int diagonal, long most) {
    int columns = (int) x.shape().extent(-1);
    int rows = (int) x.shape().extent(-2);
    long mostRows = Math.max(1, most / columns);
    boolean whole = rows <= mostRows;
    long each = whole ? mostRows / rows * rows : mostRows;
    long all = x.shape().elements() / columns;
    Checks.requireLaunches(
        "x",
        x.text() + " as input \"x\"",
        whole ? Math.ceilDiv(all, each) : all / rows * Math.ceilDiv(rows, each));
    var steps = new ArrayList<Step>();
    long here;
    for (long row = 0; row < all; row += here) {
      long inMatrix = row % rows;
      here = Math.min(each, whole ? all - row : rows - inMatrix);
      int accesses = Math.toIntExact(here * columns / variant.vector());
      long offset = row * columns * variant.bytes();
      steps.add(
          new Step(
              variant,
              Dim3.of(Math.ceilDiv(accesses, TriangleVariant.THREADS * TriangleVariant.DEPTH)),
              TriangleVariant.THREADS,
              0,
              Arguments.NONE
                  .with("x", new Slot.Input("x", offset))
                  .with("y", new Slot.Output("y", offset))
                  .with("count", accesses)
                  .with("perRow", columns / variant.vector())
                  .with("rows", rows)
                  .with("firstRow", (int) inMatrix)
                  .with("diagonal", diagonal)));
    }
    return steps;
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    long right = at[at.length - 1] - at[at.length - 2];
    long diagonal = attributes.integer("diagonal");
    boolean upper = attributes.choice("part").equals("upper");
    return (upper ? right >= diagonal : right <= diagonal) ? x.get("x", at) : 0;
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return x(inputs).shape().rank() > 2;
  }
}
