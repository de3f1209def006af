package dev.athanor.engine.emulator.async;

import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.DotProducts;
import dev.athanor.engine.ptx.meaning.NumberFormat;
import dev.athanor.engine.ptx.meaning.NumberTile;
import dev.athanor.engine.ptx.meaning.TensorCore;

/**
 * The arithmetic of {@code wgmma.mma_async} and {@code tcgen05.mma} (PTX ISA 9.7.15.5, 9.7.16.10)
 * on the bits of elements: A is m by k, B is k by n, the accumulator is m by n, all row-major.
 */
@FunctionalInterface
interface WgmmaProduct {

  /** Adds the product to the accumulator. */
  void add(int[] a, int[] b, int[] sums);

  /**
   * Returns the product of an instruction.
   *
   * @param shape in addressable elements; eight {@code .b1} elements count as one
   * @param scaleA 1, or -1 to negate A
   */
  static WgmmaProduct of(MatrixShape shape, Modifiers modifiers, int scaleA, int scaleB) {
    var types = modifiers.types();
    return switch (types.get(1)) {
      case S8, U8 ->
          new OfIntegers(
              shape, types.get(1) == Type.S8, types.get(2) == Type.S8, modifiers.has("satfinite"));
      case B1 -> (a, b, sums) -> countCommonBits(shape, a, b, sums);
      default -> {
        var d = types.get(0);
        var a = types.get(1);
        var core = TensorCore.wgmma(NumberFormat.of(a), d, shape.k());
        yield new OfFloats(shape, d, a, types.get(2), scaleA, scaleB, core);
      }
    };
  }

  private static void countCommonBits(MatrixShape shape, int[] a, int[] b, int[] sums) {
    for (int at = 0; at < sums.length; at++) {
      int row = at / shape.n() * shape.k();
      for (int k = 0, j = at % shape.n(); k < shape.k(); k++, j += shape.n()) {
        sums[at] += Integer.bitCount(a[row + k] & b[j] & 0xFF);
      }
    }
  }

  /** Integer factors of 8 bits; accumulators that wrap or saturate. */
  record OfIntegers(MatrixShape shape, boolean signedA, boolean signedB, boolean saturated)
      implements WgmmaProduct {

    @Override
    public void add(int[] a, int[] b, int[] sums) {
      for (int at = 0; at < sums.length; at++) {
        int row = at / shape.n() * shape.k();
        int sum = 0; // at most 32 products of two bytes
        for (int k = 0, j = at % shape.n(); k < shape.k(); k++, j += shape.n()) {
          sum += widen(a[row + k], signedA) * widen(b[j], signedB);
        }
        sums[at] =
            saturated
                ? Math.clamp((long) sums[at] + sum, Integer.MIN_VALUE, Integer.MAX_VALUE)
                : sums[at] + sum;
      }
    }

    private static int widen(int bits, boolean signed) {
      return signed ? (byte) bits : bits & 0xFF;
    }
  }

  /** f16, bf16, tf32 and fp8 factors; f32 or f16 accumulators. */
  final class OfFloats implements WgmmaProduct {
    private static final int CANONICAL_NAN = 0x7FFF_FFFF;
    private static final int CANONICAL_HALF_NAN = 0x7FFF;

    private final NumberFormat formatA;
    private final NumberFormat formatB;
    private final NumberTile numbersA;
    private final NumberTile numbersB;
    private final int scaleA;
    private final int scaleB;
    private final boolean half;
    private final float[] numbers;
    private final DotProducts products;

    OfFloats(MatrixShape shape, Type d, Type a, Type b, int scaleA, int scaleB, TensorCore core) {
      this.formatA = NumberFormat.of(a);
      this.formatB = NumberFormat.of(b);
      this.numbersA = new NumberTile(shape.m(), shape.k(), formatA.minExponent());
      this.numbersB = new NumberTile(shape.k(), shape.n(), formatB.minExponent());
      this.scaleA = scaleA;
      this.scaleB = scaleB;
      this.half = d == Type.F16;
      this.numbers = new float[shape.m() * shape.n()];
      this.products = new DotProducts(shape, core);
    }

    @Override
    public void add(int[] a, int[] b, int[] sums) {
      decode(a, formatA, scaleA, numbersA.values());
      decode(b, formatB, scaleB, numbersB.values());
      for (int i = 0; i < sums.length; i++) {
        numbers[i] = half ? Float.float16ToFloat((short) sums[i]) : Float.intBitsToFloat(sums[i]);
      }
      products.add(numbersA, numbersB, numbers);
      for (int i = 0; i < sums.length; i++) {
        sums[i] = half ? half(numbers[i]) : single(numbers[i]);
      }
    }

    private static void decode(int[] bits, NumberFormat format, int scale, float[] numbers) {
      for (int i = 0; i < bits.length; i++) {
        float number = format.value(bits[i]);
        numbers[i] = scale < 0 ? -number : number;
      }
    }

    private static int single(float sum) {
      return Float.isNaN(sum) ? CANONICAL_NAN : Float.floatToRawIntBits(sum);
    }

    private static int half(float sum) {
      return Float.isNaN(sum) ? CANONICAL_HALF_NAN : Float.floatToFloat16(sum) & 0xFFFF;
    }
  }
}
