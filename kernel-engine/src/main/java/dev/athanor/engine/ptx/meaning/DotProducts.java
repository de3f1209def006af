package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.MatrixShape;

/**
 * Products of decoded matrices, accumulated like a {@link TensorCore}. An instance has scratch
 * memory and serves one thread.
 *
 * <p>A is m by k and B is k by n, both {@link NumberTile}s. The m by n accumulators are row-major
 * and updated in place.
 */
public final class DotProducts {

  private static final int SPECIAL_THRESHOLD = NumberTile.SPECIAL / 2;

  private final MatrixShape shape;
  private final TensorCore core;
  private final double[] wideA;
  private final double[] wideB;
  private final int[] exponentOfSum;

  /**
   * Creates products of one shape.
   *
   * @throws IllegalArgumentException if m is not a multiple of 2, n of 8, or k of the core's block
   */
  public DotProducts(MatrixShape shape, TensorCore core) {
    if (shape.m() % 2 != 0 || shape.n() % 8 != 0 || shape.k() % core.depth() != 0) {
      throw new IllegalArgumentException(
          "m must be a multiple of 2, n of 8 and k of %d, got %s".formatted(core.depth(), shape));
    }
    this.shape = shape;
    this.core = core;
    this.wideA = new double[shape.m() * shape.k()];
    this.wideB = new double[shape.k() * shape.n()];
    this.exponentOfSum = NumberTile.exponentOfField(core.sum().minExponent());
  }

  /** Adds the products to accumulators of the core's format. */
  public void add(NumberTile a, NumberTile b, float[] sums) {
    var exponentsA = a.exponents();
    var exponentsB = b.exponents();
    a.widen(wideA);
    b.widen(wideB);
    for (int k = 0; k < shape.k(); k += core.depth()) {
      for (int row = 0; row < shape.m(); row++) {
        for (int column = 0; column < shape.n(); column += 4) {
          block(exponentsA, exponentsB, row, column, k, sums);
        }
      }
    }
  }

  /** Adds a block of products to four adjacent elements of a row. */
  private void block(int[] exponentsA, int[] exponentsB, int row, int column, int k, float[] sums) {
    int n = shape.n();
    int at = row * n + column;
    int firstA = row * shape.k() + k;
    int endA = firstA + core.depth();
    int firstB = k * n + column;
    float c0 = sums[at];
    float c1 = sums[at + 1];
    float c2 = sums[at + 2];
    float c3 = sums[at + 3];
    int greatest0 = exponent(c0);
    int greatest1 = exponent(c1);
    int greatest2 = exponent(c2);
    int greatest3 = exponent(c3);
    for (int i = firstA, j = firstB; i < endA; i++, j += n) {
      int exponent = exponentsA[i];
      greatest0 = Math.max(greatest0, exponent + exponentsB[j]);
      greatest1 = Math.max(greatest1, exponent + exponentsB[j + 1]);
      greatest2 = Math.max(greatest2, exponent + exponentsB[j + 2]);
      greatest3 = Math.max(greatest3, exponent + exponentsB[j + 3]);
    }
    if (Math.max(Math.max(greatest0, greatest1), Math.max(greatest2, greatest3))
        >= SPECIAL_THRESHOLD) {
      sums[at] = single(greatest0, c0, firstA, firstB);
      sums[at + 1] = single(greatest1, c1, firstA, firstB + 1);
      sums[at + 2] = single(greatest2, c2, firstA, firstB + 2);
      sums[at + 3] = single(greatest3, c3, firstA, firstB + 3);
      return;
    }
    // products have at most 24 bits and scales are powers of two, so this is exact
    double scale0 = powerOfTwo(core.fractionBits() - greatest0);
    double scale1 = powerOfTwo(core.fractionBits() - greatest1);
    double scale2 = powerOfTwo(core.fractionBits() - greatest2);
    double scale3 = powerOfTwo(core.fractionBits() - greatest3);
    long sum0 = (long) (c0 * scale0);
    long sum1 = (long) (c1 * scale1);
    long sum2 = (long) (c2 * scale2);
    long sum3 = (long) (c3 * scale3);
    for (int i = firstA, j = firstB; i < endA; i++, j += n) {
      double factor = wideA[i];
      sum0 += (long) (factor * wideB[j] * scale0);
      sum1 += (long) (factor * wideB[j + 1] * scale1);
      sum2 += (long) (factor * wideB[j + 2] * scale2);
      sum3 += (long) (factor * wideB[j + 3] * scale3);
    }
    var format = core.sum();
    sums[at] = format.round(sum0 * powerOfTwo(greatest0 - core.fractionBits()));
    sums[at + 1] = format.round(sum1 * powerOfTwo(greatest1 - core.fractionBits()));
    sums[at + 2] = format.round(sum2 * powerOfTwo(greatest2 - core.fractionBits()));
    sums[at + 3] = format.round(sum3 * powerOfTwo(greatest3 - core.fractionBits()));
  }

  /** Adds a block to one accumulator, which may be infinite or NaN. */
  private float single(int greatest, float c, int firstA, int firstB) {
    if (greatest >= SPECIAL_THRESHOLD) {
      double sum = c;
      for (int i = 0; i < core.depth(); i++) {
        sum += wideA[firstA + i] * wideB[firstB + i * shape.n()];
      }
      return (float) sum;
    }
    double scale = powerOfTwo(core.fractionBits() - greatest);
    long sum = (long) (c * scale);
    for (int i = 0; i < core.depth(); i++) {
      sum += (long) (wideA[firstA + i] * wideB[firstB + i * shape.n()] * scale);
    }
    return core.sum().round(sum * powerOfTwo(greatest - core.fractionBits()));
  }

  private int exponent(float sum) {
    return exponentOfSum[(Float.floatToRawIntBits(sum) >>> 23) & 0xFF];
  }

  private static double powerOfTwo(int exponent) {
    return Double.longBitsToDouble((long) (exponent + 1023) << 52);
  }
}
