package dev.athanor.ops.quant;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import java.util.stream.LongStream;

/** What the problems of this package have in common. */
final class Problems {

  /** Numbers of elements along a dimension, and of threads, are 32-bit integers in kernels. */
  private static final int MOST = Integer.MAX_VALUE - 1024;

  private Problems() {}

  /**
   * Checks the size of a dimension of what is stored in a tensor.
   *
   * @throws OpException.TooLarge when kernels could not count it
   */
  static int requireExtent(String name, TensorType tensor, long extent) {
    if (extent > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s; 2^31 - 1025 is the most for a dimension"
              .formatted(name, tensor.shape()));
    }
    return (int) extent;
  }

  /** Checks how many threads of a flat grid a tensor takes. */
  static int requireThreads(String name, TensorType tensor, long threads) {
    if (threads > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s, which takes %d threads; 2^31 - 1025 are the most"
              .formatted(name, tensor.shape(), threads));
    }
    return (int) threads;
  }

  /** The PTX type of elements. */
  static Type type(DType dtype) {
    return switch (dtype) {
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      case I8 -> Type.S8;
      case U32 -> Type.U32;
      default ->
          throw new IllegalArgumentException("no kernel here has elements of " + dtype.text());
    };
  }

  /** The columns of a matrix of weights, in float64. */
  interface Columns {
    double[] column(int column);
  }

  /** The product of a matrix {@code [m, k]} and one of {@code n} columns. */
  static double[] product(HostTensor a, int n, Columns b) {
    int m = (int) a.type().shape().extent(0);
    var left = a.toDoubles();
    var c = new double[Math.multiplyExact(m, n)];
    for (int j = 0; j < n; j++) {
      var column = b.column(j);
      for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int depth = 0; depth < column.length; depth++) {
          sum += left[i * column.length + depth] * column[depth];
        }
        c[i * n + j] = sum;
      }
    }
    return c;
  }

  /** Some elements of that product. */
  static double[] product(HostTensor a, int n, Columns b, long[] elements) {
    return LongStream.of(elements)
        .mapToDouble(element -> {
          var column = b.column((int) (element % n));
          double sum = 0;
          for (int depth = 0; depth < column.length; depth++) {
            sum += a.get(element / n * column.length + depth) * column[depth];
          }
          return sum;
        })
        .toArray();
  }
}
