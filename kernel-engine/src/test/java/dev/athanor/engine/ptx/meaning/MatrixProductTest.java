package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.InstructionRun;
import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.testing.TestTier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Matrix products, compared with {@link SlowTensorCore} and exact arithmetic. */
class MatrixProductTest {

  private static final int ROUNDS = 12;

  /** The arithmetic of each target, as stated by the MMA-Sim model. */
  @ParameterizedTest
  @CsvSource({
    // spelling, target, fraction bits, depth of a block, format of the sums, smallest exponents
    "m16n8k8.row.col.f32.f16.f16.f32,     sm_70, 23, 4,  F32,   -14,  -14",
    "m16n8k8.row.col.f32.f16.f16.f32,     sm_75, 24, 8,  F32,   -14,  -14",
    "m16n8k8.row.col.f32.f16.f16.f32,     sm_80, 24, 8,  F32,   -14,  -14",
    "m16n8k8.row.col.f32.f16.f16.f32,     sm_90, 25, 8,  F32,   -14,  -14",
    "m16n8k8.row.col.f16.f16.f16.f16,     sm_80, 24, 8,  F16,   -14,  -14",
    "m16n8k16.row.col.f32.f16.f16.f32,    sm_80, 24, 8,  F32,   -14,  -14",
    "m16n8k16.row.col.f32.f16.f16.f32,    sm_89, 24, 8,  F32,   -14,  -14",
    "m16n8k16.row.col.f32.f16.f16.f32,    sm_90, 25, 16, F32,   -14,  -14",
    "m16n8k16.row.col.f16.f16.f16.f16,    sm_80, 24, 8,  F16,   -14,  -14",
    "m16n8k16.row.col.f16.f16.f16.f16,    sm_90, 25, 16, F16,   -14,  -14",
    "m16n8k8.row.col.f32.bf16.bf16.f32,   sm_80, 24, 8,  F32,   -126, -126",
    "m16n8k16.row.col.f32.bf16.bf16.f32,  sm_80, 24, 8,  F32,   -126, -126",
    "m16n8k16.row.col.f32.bf16.bf16.f32,  sm_90, 25, 16, F32,   -126, -126",
    "m16n8k4.row.col.f32.tf32.tf32.f32,   sm_80, 24, 4,  F32,   -126, -126",
    "m16n8k8.row.col.f32.tf32.tf32.f32,   sm_80, 24, 4,  F32,   -126, -126",
    "m16n8k8.row.col.f32.tf32.tf32.f32,   sm_90, 25, 8,  F32,   -126, -126",
    // ptxas emits HMMA.1684 for wmma on every target, two along k
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32, sm_80, 24, 4, F32, -126, -126",
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32, sm_90, 25, 4, F32, -126, -126",
    "m16n8k16.row.col.f32.e4m3.e4m3.f32,  sm_89, 13, 16, E8M13, -6,   -6",
    "m16n8k32.row.col.f32.e4m3.e5m2.f32,  sm_89, 13, 16, E8M13, -6,   -14",
    "m16n8k32.row.col.f16.e5m2.e5m2.f16,  sm_89, 13, 16, F16,   -14,  -14",
    "m16n8k16.row.col.f32.e4m3.e4m3.f32,  sm_120, 25, 16, F32,  -6,   -6",
    "m16n8k32.row.col.f32.e4m3.e5m2.f32,  sm_120, 25, 32, F32,  -6,   -14",
    "m16n8k32.row.col.f16.e5m2.e4m3.f16,  sm_121, 25, 32, F16,  -14,  -6",
  })
  void sumsMatchTheModel(
      String spelling,
      String target,
      int fraction,
      int depth,
      SlowTensorCore.Format format,
      int smallestA,
      int smallestB) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    var opcode = spelling.startsWith("wmma") ? spelling : "mma.sync.aligned." + spelling;
    var run = new InstructionRun(opcode, Target.of(target));
    var typeA = run.types.get(1);
    var typeB = run.types.get(2);
    var typeC = run.types.get(3);
    var core = new SlowTensorCore(fraction, format, smallestA, smallestB);
    for (int round = 0; round < ROUNDS; round++) {
      int spread = 1 + random.nextInt(60);
      run.fill(random, round % 3 == 2, spread);
      run.execute();
      for (int i = 0; i < run.shape.m(); i++) {
        for (int j = 0; j < run.shape.n(); j++) {
          double sum = value(typeC, run.c[i][j]);
          for (int k = 0; k < run.shape.k(); k += depth) {
            var x = new double[depth];
            var y = new double[depth];
            for (int l = 0; l < depth; l++) {
              x[l] = value(typeA, run.a[i][k + l]);
              y[l] = value(typeB, run.b[k + l][j]);
            }
            sum = core.add(x, y, sum);
          }
          assertThat(Integer.toHexString((int) run.d[i][j]))
              .as("seed %d, round %d, row %d, column %d", seed, round, i, j)
              .isEqualTo(Integer.toHexString(bits(typeC, sum)));
        }
      }
    }
  }

  /**
   * The SASS of ptxas 13.0: an HMMA of the elements with k mod 4 of 0 or 1, starting from zero,
   * then one of those with 2 or 3, then an FADD or HADD2 of the addend.
   */
  @ParameterizedTest
  @CsvSource({
    "m16n8k16.row.col.f32.e4m3.e4m3.f32, sm_90",
    "m16n8k16.row.col.f16.e5m2.e4m3.f16, sm_90a",
    "m16n8k32.row.col.f32.e4m3.e4m3.f32, sm_90",
    "m16n8k32.row.col.f32.e5m2.e4m3.f32, sm_90a",
    "m16n8k32.row.col.f32.e5m2.e5m2.f32, sm_100",
    "m16n8k32.row.col.f16.e4m3.e5m2.f16, sm_90",
    "m16n8k32.row.col.f16.e4m3.e4m3.f16, sm_110"
  })
  void ptxasReplacesFp8Products(String spelling, String target) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    var run = new InstructionRun("mma.sync.aligned." + spelling, Target.of(target));
    boolean halves = run.types.getFirst() == Type.F16;
    var format = halves ? SlowTensorCore.Format.F16 : SlowTensorCore.Format.F32;
    var core = new SlowTensorCore(25, format, -14, -14);
    int depth = run.shape.k() / 2;
    for (int round = 0; round < ROUNDS; round++) {
      run.fill(random, round % 3 == 2, 1 + random.nextInt(40));
      run.execute();
      for (int i = 0; i < run.shape.m(); i++) {
        for (int j = 0; j < run.shape.n(); j++) {
          double sum = 0;
          for (int half = 0; half < 2; half++) {
            var x = new double[depth];
            var y = new double[depth];
            for (int l = 0; l < depth; l++) {
              int k = l / 2 * 4 + 2 * half + l % 2;
              x[l] = value(run.types.get(1), run.a[i][k]);
              y[l] = value(run.types.get(2), run.b[k][j]);
            }
            sum = core.add(x, y, sum);
          }
          float both = (float) sum + (float) value(run.types.get(3), run.c[i][j]);
          assertThat(Integer.toHexString((int) run.d[i][j]))
              .as("seed %d, round %d, row %d, column %d", seed, round, i, j)
              .isEqualTo(Integer.toHexString(bits(run.types.get(3), both)));
        }
      }
    }
  }

  @Test
  void infinitiesAndNansFollowArithmetic() {
    var run = new InstructionRun("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", Target.SM_90);
    for (int k = 0; k < 16; k++) {
      run.b[k][0] = 0x3C00; // 1
    }
    run.a[0][3] = 0x7C00; // infinity
    run.a[1][3] = 0xFC00;
    run.a[2][3] = 0x7C00;
    run.a[2][4] = 0xFC00;
    run.a[3][3] = 0x7E00; // NaN
    run.c[4][0] = Float.floatToRawIntBits(Float.NEGATIVE_INFINITY);
    run.a[6][0] = 0x3C00;
    run.a[6][1] = 0x0002; // 2^-23
    run.a[6][2] = 0x0001; // 2^-24
    run.b[1][0] = 0x3400; // 1/4: the product is 2^-25
    run.b[2][0] = 0x3400; // the product is 2^-26, which is lost
    run.c[6][0] = Float.floatToRawIntBits(-1);
    run.execute();
    assertThat(run.d[0][0]).isEqualTo(0x7F80_0000);
    assertThat(run.d[1][0]).isEqualTo(0xFFFF_FFFF_FF80_0000L);
    assertThat(run.d[2][0]).isEqualTo(0x7FFF_FFFF);
    assertThat(run.d[3][0]).isEqualTo(0x7FFF_FFFF);
    assertThat(run.d[4][0]).isEqualTo(0xFFFF_FFFF_FF80_0000L);
    assertThat(run.d[5][0]).isZero();
    assertThat(run.d[6][0])
        .as("a finite sum beside infinite ones is truncated all the same")
        .isEqualTo(Float.floatToRawIntBits(0x1p-25f));
    assertThat(run.d[0][1]).as("infinity times 0").isEqualTo(0x7FFF_FFFF);
  }

  @Test
  void ampereDropsSmallProductsEarlier() {
    for (var target : new Target[] {Target.SM_80, Target.SM_90}) {
      var run = new InstructionRun("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", target);
      run.a[0][0] = 0x3C00; // 1
      run.b[0][0] = 0x3C00;
      run.a[0][1] = 0x0C00; // 2^-12
      run.b[1][0] = 0x0800; // 2^-13: the product is 2^-25
      run.c[0][0] = Float.floatToRawIntBits(-1);
      run.execute();
      assertThat(run.d[0][0]).isEqualTo(Float.floatToRawIntBits(target.sm() == 80 ? 0 : 0x1p-25f));
    }
  }

  /** 2^-9 is subnormal in e4m3 but not in f16, so its product does not displace small terms. */
  @Test
  void hopperConvertsFp8ToF16() {
    var run =
        new InstructionRun("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", Target.SM_90);
    run.a[0][0] = 0x01; // 2^-9
    run.a[0][1] = 0x01;
    run.a[0][4] = 0x01;
    run.b[0][0] = 0x78; // 2^15
    run.b[1][0] = 0x18; // 2^-9
    run.b[4][0] = 0xF8; // -2^15
    run.execute();
    assertThat(run.d[0][0]).isEqualTo(Float.floatToRawIntBits(0x1p-18f));
  }

  @Test
  void f16SumsOverflowToInfinity() {
    var run = new InstructionRun("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", Target.SM_90);
    run.a[0][0] = 0x7BFF; // 65504
    run.b[0][0] = 0x3C00;
    run.c[0][0] = 0x4BFF; // 15.99, which leaves the sum nearer to 65504 than to 65536
    run.a[8][0] = 0x7BFF;
    run.c[8][0] = 0x4C00; // 16, which does not
    run.execute();
    assertThat(run.d[0][0]).isEqualTo(0x7BFF);
    assertThat(run.d[8][0]).isEqualTo(0x7C00);
  }

  @ParameterizedTest
  @CsvSource({
    "m8n8k16.row.col.s32.s8.u8.s32",
    "m16n8k16.row.col.s32.u8.s8.s32",
    "m16n8k32.row.col.s32.s8.s8.s32",
    "m16n8k32.row.col.satfinite.s32.u8.u8.s32",
    "m16n8k32.row.col.satfinite.s32.s8.s8.s32",
    "m8n8k32.row.col.s32.s4.s4.s32",
    "m16n8k32.row.col.s32.u4.s4.s32",
    "m16n8k64.row.col.satfinite.s32.s4.u4.s32",
    "m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    "m16n8k128.row.col.s32.b1.b1.s32.and.popc",
    "m16n8k256.row.col.s32.b1.b1.s32.xor.popc"
  })
  void integersWrapOrSaturate(String spelling) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    var run = new InstructionRun("mma.sync.aligned." + spelling, Target.SM_80);
    int[] extremes = {0, 1, -1, Integer.MAX_VALUE, Integer.MIN_VALUE, Integer.MAX_VALUE - 1000};
    run.each(run.a, i -> random.nextInt(3) == 0 ? -1 : random.nextInt());
    run.each(
        run.b, i -> random.nextInt(3) == 0 ? 1 << (run.types.get(2).bits() - 1) : random.nextInt());
    run.each(run.c, i -> random.nextBoolean() ? random.nextInt() : extremes[i % extremes.length]);
    run.execute();
    for (int i = 0; i < run.shape.m(); i++) {
      for (int j = 0; j < run.shape.n(); j++) {
        var sum = BigInteger.valueOf(run.c[i][j]);
        for (int k = 0; k < run.shape.k(); k++) {
          sum = sum.add(BigInteger.valueOf(product(spelling, run.types, run.a[i][k], run.b[k][j])));
        }
        long expected =
            spelling.contains("satfinite")
                ? sum.min(BigInteger.valueOf(Integer.MAX_VALUE))
                    .max(BigInteger.valueOf(Integer.MIN_VALUE))
                    .longValueExact()
                : sum.intValue();
        assertThat(run.d[i][j]).as("seed %d, row %d, column %d", seed, i, j).isEqualTo(expected);
      }
    }
  }

  private static long product(String spelling, List<Type> types, long a, long b) {
    long x = value(types.get(1), (int) a, types.get(1).bits());
    long y = value(types.get(2), (int) b, types.get(2).bits());
    return spelling.contains("xor") ? x ^ y : spelling.contains("and") ? x & y : x * y;
  }

  private static long value(Type type, int bits, int width) {
    long low = bits & ((1L << width) - 1);
    boolean negative = type.kind() == Type.Kind.SIGNED && low >> (width - 1) != 0;
    return negative ? low - (1L << width) : low;
  }

  @ParameterizedTest
  @CsvSource({
    "m8n8k4.row.col.f64.f64.f64.f64",
    "m8n8k4.row.col.rz.f64.f64.f64.f64",
    "m16n8k4.row.col.rp.f64.f64.f64.f64",
    "m16n8k8.row.col.rm.f64.f64.f64.f64",
    "m16n8k16.row.col.rn.f64.f64.f64.f64"
  })
  void doublesAreFusedMultiplyAdds(String spelling) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    var run = new InstructionRun("mma.sync.aligned." + spelling, Target.SM_90);
    for (var matrix : List.of(run.a, run.b, run.c)) {
      for (var row : matrix) {
        for (int j = 0; j < row.length; j++) {
          double x = Math.scalb(random.nextGaussian(), random.nextInt(80) - 40);
          row[j] = Double.doubleToRawLongBits(x);
        }
      }
    }
    run.execute();
    var mode =
        switch (run.modifiers.find(Rounding.class).orElse(Rounding.RN)) {
          case RZ -> RoundingMode.DOWN;
          case RP -> RoundingMode.CEILING;
          case RM -> RoundingMode.FLOOR;
          default -> RoundingMode.HALF_EVEN;
        };
    for (int i = 0; i < run.shape.m(); i++) {
      for (int j = 0; j < run.shape.n(); j++) {
        double sum = Double.longBitsToDouble(run.c[i][j]);
        for (int k = 0; k < run.shape.k(); k++) {
          var exact =
              new BigDecimal(Double.longBitsToDouble(run.a[i][k]))
                  .multiply(new BigDecimal(Double.longBitsToDouble(run.b[k][j])))
                  .add(new BigDecimal(sum));
          sum = SlowTensorCore.round(exact, 52, -1022, mode);
        }
        assertThat(run.d[i][j])
            .as("seed %d, row %d, column %d", seed, i, j)
            .isEqualTo(Double.doubleToRawLongBits(sum));
      }
    }
  }

  private static double value(Type type, long bits) {
    return type == Type.F32
        ? Float.intBitsToFloat((int) bits)
        : type == Type.TF32
            ? Float.intBitsToFloat((int) bits & 0xFFFF_E000)
            : SmallFloat.decode((int) bits, type);
  }

  private static int bits(Type type, double sum) {
    return type == Type.F16
        ? Double.isNaN(sum) ? 0x7FFF : Float.floatToFloat16((float) sum) & 0xFFFF
        : Double.isNaN(sum) ? 0x7FFF_FFFF : Float.floatToRawIntBits((float) sum);
  }
}
