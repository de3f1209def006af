package dev.athanor.spark;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;

/** A measure of the similarity of two vectors. Greater scores are better. */
public enum Metric {
  /** The dot product, in f32. */
  DOT_PRODUCT,
  /** The dot product in f32, divided by both Euclidean norms, which are computed in f64. */
  COSINE;

  /**
   * Returns the norms of the rows of a matrix; see {@link #norm}.
   *
   * @param name the name of a row in error messages
   */
  double[] norms(Matrix matrix, String name) {
    var norms = new double[matrix.rows()];
    var values = MemorySegment.ofArray(matrix.values());
    long bytes = (long) matrix.columns() * Float.BYTES;
    for (int i = 0; i < norms.length; i++) {
      int row = i;
      norms[i] = norm(values.asSlice(row * bytes, bytes), () -> name + " " + row);
    }
    return norms;
  }

  /**
   * Returns the norm by which scores are divided; 1 if they are not.
   *
   * @param vector f32 values
   * @param name the name of the vector in error messages
   * @throws IllegalArgumentException if the vector is zero and scores are divided by its norm
   */
  double norm(MemorySegment vector, Supplier<String> name) {
    if (this == DOT_PRODUCT) {
      return 1;
    }
    double squares = 0;
    for (long i = 0; i < vector.byteSize() / Float.BYTES; i++) {
      double value = vector.getAtIndex(ValueLayout.JAVA_FLOAT, i);
      squares += value * value;
    }
    if (squares == 0) {
      throw new IllegalArgumentException(
          "The vector of %s is zero, and COSINE needs a direction; remove it or use DOT_PRODUCT."
              .formatted(name.get()));
    }
    return Math.sqrt(squares);
  }

  /** Returns a score. Zeros are positive, so that they tie. */
  float score(float dot, double norm, double queryNorm) {
    return this == DOT_PRODUCT ? dot + 0f : (float) (dot / (norm * queryNorm)) + 0f;
  }
}
