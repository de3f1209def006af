package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;
import dev.athanor.testing.TestTier;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Products of whole tiles, as in warpgroup products. */
class DotProductsTest {

  @ParameterizedTest
  @CsvSource({
    "F16, F32, 16, 8, 25, F32",
    "F16, F16, 16, 24, 25, F16",
    "BF16, F32, 16, 16, 25, F32",
    "TF32, F32, 8, 40, 25, F32",
    "E4M3, F32, 32, 8, 13, E8M13",
    "E5M2, F16, 32, 8, 13, F16"
  })
  void warpgroupProductsAreOneBlock(
      NumberFormat factors,
      Type sum,
      int depth,
      int columns,
      int fraction,
      SlowTensorCore.Format format) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    int rows = 64;
    var shape = new MatrixShape(rows, columns, depth);
    var core = TensorCore.wgmma(factors, sum, depth);
    var products = new DotProducts(shape, core);
    var a = new NumberTile(rows, depth, factors.minExponent());
    var b = new NumberTile(depth, columns, factors.minExponent());
    var slow = new SlowTensorCore(fraction, format, factors.minExponent(), factors.minExponent());
    var sums = new float[rows * columns];
    for (int i = 0; i < a.values().length; i++) {
      a.values()[i] = number(random, factors);
    }
    for (int i = 0; i < b.values().length; i++) {
      b.values()[i] = number(random, factors);
    }
    for (int step = 0; step < 2; step++) { // the second product accumulates onto the first
      var before = sums.clone();
      products.add(a, b, sums);
      for (int i = 0; i < rows; i += 5) {
        for (int j = 0; j < columns; j++) {
          var x = new double[depth];
          var y = new double[depth];
          for (int k = 0; k < depth; k++) {
            x[k] = a.values()[i * depth + k];
            y[k] = b.values()[k * columns + j];
          }
          assertThat((double) sums[i * columns + j])
              .as("seed %d, step %d, row %d, column %d", seed, step, i, j)
              .isEqualTo(slow.add(x, y, before[i * columns + j]));
        }
      }
    }
  }

  private static float number(Random random, NumberFormat format) {
    return switch (format) {
      case F16 -> finite(format, random.nextInt(1 << 16));
      case BF16, TF32 ->
          format.value(
              Float.floatToRawIntBits(
                      (float) Math.scalb(random.nextGaussian(), random.nextInt(60) - 30))
                  >>> (format == NumberFormat.BF16 ? 16 : 0));
      default -> finite(format, random.nextInt(256));
    };
  }

  private static float finite(NumberFormat format, int bits) {
    float value = format.value(bits);
    return Float.isFinite(value) ? value : 0;
  }

  @Test
  void rejectsUnsupportedShapes() {
    var core = new TensorCore(25, 16, TensorCore.Sum.F32);
    assertThatThrownBy(() -> new DotProducts(new MatrixShape(16, 12, 16), core))
        .hasMessage(
            "m must be a multiple of 2, n of 8 and k of 16, got MatrixShape[m=16, n=12, k=16]");
    assertThatThrownBy(() -> new DotProducts(new MatrixShape(16, 8, 8), core))
        .hasMessageStartingWith("m must be a multiple of 2, n of 8 and k of 16, got");
    assertThatThrownBy(() -> new TensorCore(41, 16, TensorCore.Sum.F32))
        .hasMessage(
            "a block has at least 1 product and keeps 1 to 40 fraction bits, got 16 and" + " 41");
    assertThatThrownBy(() -> MatrixShape.of(new Modifiers(java.util.List.of(Type.F32))))
        .hasMessage("no shape such as .m16n8k16 in .f32");
    assertThatThrownBy(() -> NumberFormat.of(Type.S8))
        .hasMessage(".s8 is not a floating-point type of a matrix");
  }
}
