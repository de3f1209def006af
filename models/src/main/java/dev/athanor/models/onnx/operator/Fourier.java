package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The matrix of a discrete Fourier transform, by which the operator DFT multiplies.
 *
 * @param rows the number of elements that it transforms
 * @param from 1 for real elements, 2 for complex ones
 * @param columns the number of elements that it returns
 * @param to 1 for real results, of an input whose other half is its mirrored conjugate; otherwise 2
 * @param size the length of the transform
 */
record Fourier(int rows, int from, int columns, int to, int size, boolean inverse) {

  private static final int LONGEST = 4096;

  static Value apply(Node node) {
    var x = node.x(0);
    int axis =
        x.axis(
            node.integersOf(2)
                .map(List::getFirst)
                .orElseGet(() -> node.integer("axis", node.opset() < 20 ? 1 : -2)));
    var fourier = of(node, x.extent(axis), (int) x.extent(-1));
    // the axis moves before the dimension of real and imaginary parts
    var moved = node.permute(fourier.used(node, x, axis), rotated(x.rank(), axis, -1));
    return node.permute(fourier.multiplied(node, moved), rotated(x.rank(), axis, 1));
  }

  private static List<Integer> rotated(int rank, int axis, int distance) {
    var axes = new ArrayList<>(IntStream.range(0, rank).boxed().toList());
    Collections.rotate(axes.subList(axis, rank - 1), distance);
    return axes;
  }

  private static Fourier of(Node node, long extent, int from) {
    boolean inverse = node.flag("inverse", false);
    boolean onesided = node.flag("onesided", false);
    long size =
        node.integersOf(1)
            .map(List::getFirst)
            .orElse(inverse && onesided ? 2 * (extent - 1) : extent);
    if (size < 1 || size > LONGEST) {
      throw new NotExpressible(
          "a transform of %d elements instead of 1 to %d".formatted(size, LONGEST));
    }
    long half = size / 2 + 1;
    return new Fourier(
        (int) Math.min(extent, inverse && onesided ? half : size),
        from,
        (int) (onesided && !inverse ? half : size),
        inverse && onesided ? 1 : 2,
        (int) size,
        inverse);
  }

  /** Returns the elements that the transform uses; those that are missing count as zeros. */
  private Value used(Node node, Value x, int axis) {
    var slice =
        Map.of("starts", List.of(0L), "ends", List.of((long) rows), "axes", List.of((long) axis));
    return x.extent(axis) == rows ? x : node.one("slice", slice, x);
  }

  private Value multiplied(Node node, Value x) {
    long depth = (long) rows * from;
    var factor = node.constant(x.dtype(), List.of(depth, (long) columns * to), elements());
    var attributes = Map.of("alpha", inverse ? 1.0 / size : 1.0);
    var y = node.one("matmul", attributes, x.reshape(-1, depth), factor);
    return y.reshape(x.shape().leading(2).with(columns, to).extents());
  }

  private double[] elements() {
    var elements = new double[rows * from * columns * to];
    int i = 0;
    for (int row = 0; row < rows; row++) {
      boolean isMirrored = to == 1 && row > 0 && 2 * row != size;
      for (int part = 0; part < from; part++) {
        for (int column = 0; column < columns; column++) {
          double angle = (inverse ? 2 : -2) * Math.PI * ((long) row * column % size) / size;
          for (int result = 0; result < to; result++) {
            double sine = part == 0 ? Math.sin(angle) : -Math.sin(angle);
            elements[i++] = (isMirrored ? 2 : 1) * (part == result ? Math.cos(angle) : sine);
          }
        }
      }
    }
    return elements;
  }
}
