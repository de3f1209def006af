package dev.athanor.ops.reference;

import java.util.function.LongFunction;
import java.util.function.LongToDoubleFunction;
import java.util.stream.LongStream;

/**
 * An output in float64, some elements of which can be computed without the others.
 *
 * @param elements the number of elements
 */
public record ReferenceOutput(long elements, Sample sample) {

  /** Computes the elements at some row-major indices. */
  @FunctionalInterface
  public interface Sample {
    double[] at(long[] indices);
  }

  /** Returns an output of independent elements. */
  public static ReferenceOutput ofElements(long elements, LongToDoubleFunction element) {
    return new ReferenceOutput(
        elements, indices -> LongStream.of(indices).mapToDouble(element).toArray());
  }

  /**
   * Returns an output whose rows are computed as a whole, each once if the indices are ascending.
   *
   * @param n the number of elements of a row
   * @param row returns a row
   */
  public static ReferenceOutput ofRows(long rows, int n, LongFunction<double[]> row) {
    return new ReferenceOutput(
        rows * n,
        indices -> {
          var values = new double[indices.length];
          long computed = -1;
          var current = new double[0];
          for (int i = 0; i < values.length; i++) {
            if (indices[i] / n != computed) {
              computed = indices[i] / n;
              current = row.apply(computed);
            }
            values[i] = current[(int) (indices[i] % n)];
          }
          return values;
        });
  }

  /** Returns the elements at some row-major indices. */
  public double[] at(long... indices) {
    return sample.at(indices);
  }

  /** Returns all elements. */
  public double[] all() {
    return at(LongStream.range(0, elements).toArray());
  }
}
