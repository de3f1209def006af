package dev.athanor.ops.quant;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import java.util.stream.LongStream;

/** Helpers shared by kernels and references for quantized tensors. */
public final class Problems {

  private Problems() {}

  /** Returns the PTX type of elements. */
  public static Type type(DType dtype) {
    return switch (dtype) {
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      case I8 -> Type.S8;
      case U32 -> Type.U32;
      default -> throw new IllegalArgumentException("unsupported element type: " + dtype.text());
    };
  }

  /** The columns of a weight matrix, in float64. */
  public interface Columns {
    double[] column(int column);
  }

  /** Returns the product of a matrix {@code [m, k]} and a matrix of {@code n} columns. */
  public static double[] product(HostTensor a, int n, Columns b) {
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

  /**
   * Returns some elements of the product of a matrix {@code [m, k]} and a matrix of {@code n}
   * columns.
   */
  public static double[] product(HostTensor a, int n, Columns b, long[] elements) {
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
