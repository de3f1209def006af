package dev.athanor.ops.linear.quantized;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Products of one matrix with one or more matrices of quantised weights, shapes checked.
 *
 * @param in dtype of the left matrix
 * @param out dtype of the products
 * @param left the name of the input that is the left matrix
 * @param groupShift by how many bits a row of the weights is shifted right to give its group
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
   * One product.
   *
   * @param scales the name of its input, empty where the weights have theirs with them
   * @param zeros the name of its input, empty where there are none
   * @param output the name of the product
   */
  record Projection(String weights, String scales, String zeros, String output, int n) {}

  /** Returns the rows and the depth of a left matrix. */
  static int requireRows(String name, TensorType left, int depth) {
    if (left.shape().rank() != 2) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s; it must be a matrix [M, K]".formatted(name, left.shape()));
    }
    if (left.shape().extent(1) != depth) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s, so K = %d, but the weights have K = %d; they must be equal"
              .formatted(name, left.shape(), left.shape().extent(1), depth));
    }
    return Checks.requireExtent(name, left, left.shape().extent(0));
  }

  /** Returns the number of columns all products have. */
  long columns() {
    return projections.stream().mapToLong(Projection::n).sum();
  }

  /** Returns the products' types. */
  Map<String, TensorType> outputs() {
    var outputs = new LinkedHashMap<String, TensorType>();
    projections.forEach(p -> outputs.put(p.output(), TensorType.of(out, m, p.n())));
    return outputs;
  }

  double flops() {
    return 2.0 * m * k * columns();
  }

  /** Returns the number of blocks the tiles of all products take, where one has so many columns. */
  long blocks(int columnsOfTile) {
    return projections.stream().mapToLong(p -> Math.ceilDiv(p.n(), columnsOfTile)).sum();
  }

  /** Returns the greatest power of two that every product's number of columns is a multiple of. */
  int alignment() {
    int all = projections.stream().mapToInt(Projection::n).reduce(0, (x, y) -> x | y);
    return Integer.lowestOneBit(all);
  }

  /**
   * Returns the arguments of {@link ProjectionParameters}.
   *
   * @param output where a product of a name goes
   */
  List<Slot> slots(Function<String, Slot> output) {
    var slots = new ArrayList<Slot>();
    slots.add(Slot.input(left));
    slots.add(Slot.of(m));
    slots.add(Slot.of(k));
    slots.add(Slot.of(groupShift));
    for (var p : projections) {
      slots.add(Slot.input(p.weights()));
      // a kernel without scales or zero points never reads the pointer
      slots.add(Slot.input(p.scales().isEmpty() ? p.weights() : p.scales()));
      slots.add(Slot.input(p.zeros().isEmpty() ? p.weights() : p.zeros()));
      slots.add(output.apply(p.output()));
      slots.add(Slot.of(p.n()));
    }
    return slots;
  }
}
