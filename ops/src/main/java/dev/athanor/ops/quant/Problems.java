package dev.athanor.ops.quant;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.HashMap;
import org.jspecify.annotations.Nullable;

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

  /**
   * Returns the product of a tensor {@code […, k]} and a matrix of {@code n} columns, plus a bias.
   */
  public static ReferenceOutput product(HostTensor a, int n, Columns b, @Nullable HostTensor bias) {
    var left = new TensorReader(a);
    var columns = new HashMap<Integer, double[]>();
    return ReferenceOutput.ofElements(
        a.type().shape().leading(1).elements() * n,
        i -> {
          var column = columns.computeIfAbsent((int) (i % n), b::column);
          double sum = bias == null ? 0 : bias.get(i % n);
          for (int depth = 0; depth < column.length; depth++) {
            sum += left.get(i / n * column.length + depth) * column[depth];
          }
          return sum;
        });
  }
}
