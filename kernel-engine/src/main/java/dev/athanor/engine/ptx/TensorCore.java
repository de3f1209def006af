package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;

/**
 * The arithmetic of {@code mma.sync} with 16-bit operands and f32 sums, bit for bit as hardware
 * does it.
 *
 * <p>A dot product is a sum of exact products and the accumulator, each truncated toward zero to F
 * bits below the greatest exponent among them, then added exactly and truncated to f32. F is 24 up
 * to Ada, where a product of depth 16 is two of depth 8 in sequence, and 25 on Hopper, where it is
 * one. Significands are not normalised when exponents are compared: a subnormal has the exponent of
 * the smallest normal number, a zero that of the smallest f32. Source: the MMA-Sim model, which its
 * authors compared with hardware (arXiv 2511.10909).
 */
enum TensorCore {
  F16(-14) {
    @Override
    float value(int bits) {
      return Float.float16ToFloat((short) bits);
    }
  },
  BF16(-126) {
    @Override
    float value(int bits) {
      return Float.intBitsToFloat(bits << 16);
    }
  };

  private static final int M = 16;
  private static final int N = 8;
  private static final int K = 16;
  private static final int ZERO_EXPONENT = -126;
  private static final int[] A = Fragments.A_16X16.indices();
  private static final int[] B = Fragments.B_16X8.indices();
  private static final int[] C = Fragments.C_16X8.indices();

  private final int smallestExponent;

  TensorCore(int smallestExponent) {
    this.smallestExponent = smallestExponent;
  }

  /** The number that 16 bits stand for. */
  abstract float value(int bits);

  /** {@code mma.m16n8k16}: sources are 4 registers of A, 2 of B and 4 of C, results 4 of D. */
  void m16n8k16(WarpFunction.Call call, int[][] sources, int[][] results) {
    var a = new float[M * K];
    var b = new float[N * K];
    var exponentA = new int[M * K];
    var exponentB = new int[N * K];
    boolean finite = unpack(sources, 0, A, Fragments.A_16X16, a, exponentA);
    var rowMajorB = new float[K * N];
    var rowMajorExponentB = new int[K * N];
    finite &= unpack(sources, 4, B, Fragments.B_16X8, rowMajorB, rowMajorExponentB);
    for (int k = 0; k < K; k++) {
      for (int column = 0; column < N; column++) {
        b[column * K + k] = rowMajorB[k * N + column];
        exponentB[column * K + k] = rowMajorExponentB[k * N + column];
      }
    }
    boolean hopper = call.target().sm() >= 90;
    int fraction = hopper ? 25 : 24;
    int depth = hopper ? K : K / 2;
    for (int i = 0; i < C.length; i++) {
      int lane = i / Fragments.C_16X8.elements();
      int element = i % Fragments.C_16X8.elements();
      if (((call.activeLanes() >>> lane) & 1) == 0) {
        continue;
      }
      int row = C[i] / N * K;
      int column = C[i] % N * K;
      float sum = Float.intBitsToFloat(sources[6 + element][lane]);
      for (int k = 0; k < K; k += depth) {
        float special =
            finite && Float.isFinite(sum) ? 0 : special(a, row + k, b, column + k, depth, sum);
        sum =
            Float.isFinite(special)
                ? dot(a, exponentA, row + k, b, exponentB, column + k, depth, sum, fraction)
                : special;
      }
      results[element][lane] = Float.floatToRawIntBits(sum);
    }
  }

  /** Fills in values and exponents, row-major; answers whether all values are finite. */
  private boolean unpack(
      int[][] sources,
      int first,
      int[] indices,
      Fragment fragment,
      float[] values,
      int[] exponents) {
    boolean finite = true;
    for (int i = 0; i < indices.length; i++) {
      int lane = i / fragment.elements();
      int element = i % fragment.elements();
      float value = value(sources[first + element / 2][lane] >>> (16 * (element % 2)));
      values[indices[i]] = value;
      exponents[indices[i]] =
          value == 0 ? ZERO_EXPONENT : Math.max(Math.getExponent(value), smallestExponent);
      finite &= Float.isFinite(value);
    }
    return finite;
  }

  private static float dot(
      float[] a,
      int[] exponentA,
      int atA,
      float[] b,
      int[] exponentB,
      int atB,
      int depth,
      float c,
      int fraction) {
    int greatest = c == 0 ? ZERO_EXPONENT : Math.max(Math.getExponent(c), ZERO_EXPONENT);
    for (int k = 0; k < depth; k++) {
      greatest = Math.max(greatest, exponentA[atA + k] + exponentB[atB + k]);
    }
    double scale = powerOfTwo(fraction - greatest);
    long sum = (long) (c * scale);
    for (int k = 0; k < depth; k++) {
      sum += (long) ((double) a[atA + k] * b[atB + k] * scale);
    }
    return truncate(sum * powerOfTwo(greatest - fraction));
  }

  /**
   * The sum as arithmetic has it where it is infinite or NaN, which is the canonical one; else
   * anything finite.
   */
  private static float special(float[] a, int atA, float[] b, int atB, int depth, float c) {
    double sum = c;
    for (int k = 0; k < depth; k++) {
      sum += (double) a[atA + k] * b[atB + k];
    }
    return Double.isNaN(sum)
        ? Float.intBitsToFloat(0x7FFF_FFFF)
        : Double.isInfinite(sum) ? (float) sum : 0;
  }

  private static double powerOfTwo(int exponent) {
    return Double.longBitsToDouble((long) (exponent + 1023) << 52);
  }

  /** The f32 next to the value on the side of zero; too great a value is infinite. */
  private static float truncate(double value) {
    if (Math.abs(value) >= 0x1p128) {
      return value > 0 ? Float.POSITIVE_INFINITY : Float.NEGATIVE_INFINITY;
    }
    float nearest = (float) value;
    return Math.abs((double) nearest) > Math.abs(value)
        ? Float.intBitsToFloat(Float.floatToRawIntBits(nearest) - 1)
        : nearest;
  }
}
