package dev.athanor.ops.linear.quantized;

import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Products of one matrix with one or more matrices of quantized weights.
 *
 * @param in dtype of the left matrix
 * @param out dtype of the products
 * @param left name of the input for the left matrix
 * @param groupShift right shift that maps a row of the weights to its group
 */
record ProjectionProblem(
    Packing packing,
    DType in,
    DType out,
    int m,
    int k,
    int groupShift,
    String left,
    List<Projection> projections) {

  ProjectionProblem {
    projections = List.copyOf(projections);
  }

  /**
   * A product.
   *
   * @param scales name of the input of scales; empty if the weights contain them
   * @param zeros name of the input of zero points; empty for none
   * @param output name of the product
   */
  record Projection(String weights, String scales, String zeros, String output, int n) {}

  /** Returns the number of rows of the left matrix {@code [M, K]}. */
  static int rows(BoundInputs call, String left) {
    return Checks.requireExtent(left, call.type(left), call.extent("M"));
  }

  /** Returns the total number of columns of all products. */
  long columns() {
    return projections.stream().mapToLong(Projection::n).sum();
  }

  /** Returns the types of the products by name. */
  Map<String, TensorType> outputs() {
    var outputs = new LinkedHashMap<String, TensorType>();
    projections.forEach(p -> outputs.put(p.output(), TensorType.of(out, m, p.n())));
    return outputs;
  }

  double flops() {
    return 2.0 * m * k * columns();
  }

  /** Returns the total number of column tiles of all products. */
  long blocks(int columnsOfTile) {
    return projections.stream().mapToLong(p -> Math.ceilDiv(p.n(), columnsOfTile)).sum();
  }

  /** Returns the greatest power of two that divides the number of columns of every product. */
  int alignment() {
    int all = projections.stream().mapToInt(Projection::n).reduce(0, (x, y) -> x | y);
    return Integer.lowestOneBit(all);
  }

  /**
   * Returns the arguments of {@link ProjectionParameters}.
   *
   * @param output maps the name of a product to its destination
   */
  Arguments arguments(Function<String, Slot> output) {
    var arguments =
        Arguments.NONE
            .with("a", Slot.input(left))
            .with("m", m)
            .with("k", k)
            .with("groupShift", groupShift);
    for (int i = 0; i < projections.size(); i++) {
      var p = projections.get(i);
      arguments =
          arguments
              .with("weights" + i, Slot.input(p.weights()))
              .with("c" + i, output.apply(p.output()))
              .with("n" + i, p.n());
      if (packing.hasScales()) {
        arguments = arguments.with("scales" + i, Slot.input(p.scales()));
      }
      if (packing.hasZeros()) {
        arguments = arguments.with("zeros" + i, Slot.input(p.zeros()));
      }
    }
    return arguments;
  }
}
