package dev.athanor.ops.linear.quantized;

import dev.athanor.ops.Activation;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.tile.Epilogue;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Products of one matrix with one or more matrices of quantized weights.
 *
 * @param in dtype of the left matrix
 * @param epilogue of the products, without the factor of int8 weights
 * @param rows extents of the left matrix before K
 * @param left name of the input for the left matrix
 * @param groupShift right shift that maps a row of the weights to its group
 */
record ProjectionProblem(
    Packing packing,
    DType in,
    Epilogue epilogue,
    Shape rows,
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
   * @param groupIndices name of the input with the group of each row; empty for consecutive groups
   * @param bias name of the input of the bias, if the epilogue has one
   * @param output name of the product
   */
  record Projection(
      String weights,
      String scales,
      String zeros,
      String groupIndices,
      String bias,
      String output,
      int n) {}

  /** Returns the extents before K of the left matrix {@code […, M, K]}. */
  static Shape rows(BoundInputs call, String left) {
    var rows = call.type(left).shape().leading(1);
    Checks.requireExtent(left, call.type(left), rows.elements());
    return rows;
  }

  /**
   * Returns the dtype of a product: {@code outDtype}, or that of the left matrix.
   *
   * @throws OpException.UnsupportedDType if it is neither f32 nor that of the left matrix
   */
  static DType out(BoundInputs call, String left, Attributes attributes) {
    var in = call.dtype(left);
    var asked = attributes.choice("outDtype");
    var out = asked.isEmpty() ? in : DType.of(asked).orElseThrow();
    if (out != DType.F32 && out != in) {
      throw new OpException.UnsupportedDType(
          "outDtype",
          "outDtype of a product of %s must be f32 or %s, got %s"
              .formatted(in.text(), in.text(), asked));
    }
    return out;
  }

  /**
   * Returns the epilogue of products with a bias each, or without.
   *
   * @param biases names of the inputs
   * @throws OpException.MissingInput if only some of them are given
   * @throws OpException.UnsupportedDType if one is neither of the dtype of {@code left} nor f32, or
   *     they differ
   */
  static Epilogue epilogue(BoundInputs call, String left, List<String> biases, DType out) {
    var given = biases.stream().filter(call::has).toList();
    if (given.isEmpty()) {
      return Epilogue.none(out);
    }
    for (var name : biases) {
      if (!call.has(name)) {
        throw new OpException.MissingInput(
            name,
            "input \"%s\" is missing; with \"%s\", every projection has a bias"
                .formatted(name, given.getFirst()));
      }
      MatmulProblem.requireBias(call.dtype(name), left, call.dtype(left));
    }
    var dtype = call.dtype(biases.getFirst());
    return new Epilogue(Epilogue.Scale.NONE, Optional.of(dtype), Activation.NONE, out);
  }

  /** Returns the problem of the partial sums over a share of K. */
  ProjectionProblem ofShares() {
    return new ProjectionProblem(
        packing, in, Epilogue.none(DType.F32), rows, k, groupShift, left, projections);
  }

  /** Returns whether an input names the group of each row of the weights. */
  boolean indexed() {
    return projections.stream().anyMatch(p -> !p.groupIndices().isEmpty());
  }

  DType out() {
    return epilogue.out();
  }

  /** Returns the number of rows of the left matrix. */
  int m() {
    return (int) rows.elements();
  }

  /** Returns the total number of columns of all products. */
  long columns() {
    return projections.stream().mapToLong(Projection::n).sum();
  }

  /** Returns the types of the products by name. */
  Map<String, TensorType> outputs() {
    var outputs = new LinkedHashMap<String, TensorType>();
    projections.forEach(p -> outputs.put(p.output(), new TensorType(out(), rows.with(p.n()))));
    return outputs;
  }

  double flops() {
    return 2.0 * m() * k * columns();
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
            .with("m", m())
            .with("k", k)
            .with("groupShift", groupShift);
    if (epilogue.scale() == Epilogue.Scale.TENSOR) {
      arguments = arguments.inputs("scale");
    }
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
      if (epilogue.bias().isPresent()) {
        arguments = arguments.with("bias" + i, Slot.input(p.bias()));
      }
    }
    return arguments;
  }
}
