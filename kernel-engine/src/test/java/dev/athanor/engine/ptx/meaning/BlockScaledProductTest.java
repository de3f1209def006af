package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.WarpFunction;
import dev.athanor.engine.ptx.table.InstructionTable;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@code mma} of 4- to 8-bit floating-point factors with random registers, compared with exact
 * sums. Positions and encodings are the manual's (PTX ISA 5.2.3, 9.7.14.3, 9.7.14.5.10 and
 * 9.7.14.5.11), independent of those of the emulator.
 */
class BlockScaledProductTest {

  private static final Target TARGET = Target.of("sm_120a");
  private static final int ROUNDS = 20;
  private static final int LANES = 32;

  private static final List<String> F8F6F4 = List.of("e4m3", "e5m2", "e3m2", "e2m3", "e2m1");

  private static Modifiers modifiers(String spelling) {
    var words = Arrays.stream(("sync.aligned." + spelling).split("\\.")).map(Modifier::of).toList();
    return InstructionTable.all().stream()
        .filter(row -> row.mnemonic().equals("mma"))
        .flatMap(row -> row.match(words).stream())
        .findFirst()
        .orElseThrow();
  }

  @Test
  void padsSmallFactorsToBytes() {
    for (var a : F8F6F4) {
      for (var b : F8F6F4) {
        for (var sum : List.of("f32", "f16")) {
          compare("m16n8k32.row.col.kind::f8f6f4.%s.%s.%s.%1$s".formatted(sum, a, b), 2);
        }
      }
    }
  }

  @Test
  void scalesRowsAndColumns() {
    for (var a : F8F6F4) {
      for (var b : F8F6F4) {
        compare(
            "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.%s.%s.f32.ue8m0"
                .formatted(a, b),
            3);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "kind::mxf8f6f4.block_scale.f32.e5m2.e2m1.f32.ue8m0",
        "kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
        "kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
      })
  void scalesBlocks(String spelling) {
    compare((spelling.contains("f8") ? "m16n8k32" : "m16n8k64") + ".row.col." + spelling, ROUNDS);
  }

  private static void compare(String spelling, int rounds) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    for (int round = 0; round < rounds; round++) {
      var run = new Run(modifiers(spelling));
      run.fill(random, round % 4);
      var results = run.execute();
      for (int row = 0; row < 16; row++) {
        for (int column = 0; column < 8; column++) {
          assertThat(Integer.toHexString(run.sum(results, row, column)))
              .as("%s: seed %d, round %d, row %d, column %d", spelling, seed, round, row, column)
              .isEqualTo(Integer.toHexString(run.expected(row, column)));
        }
      }
    }
  }

  @Test
  void rejectsSelectorsWithoutADefinedResult() {
    var run = new Run(modifiers("m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"));
    run.select(2, 1, 0, 3);
    run.execute();
    run.select(1, 1, 0, 0);
    assertThatThrownBy(run::execute)
        .hasMessage(
            "the selector of the scale factors of A is {1, 1}; with .scale_vec::2X, byte-id is a"
                + " multiple of 2 below 4 and thread-id is at most 1");
    run.select(0, 0, 2, 4);
    assertThatThrownBy(run::execute)
        .hasMessage(
            "the selector of the scale factors of B is {2, 4}; with .scale_vec::2X, byte-id is a"
                + " multiple of 2 below 4 and thread-id is at most 3");
    run.select(0, 0, 2, 3);
    run.sources[run.sources.length - 1][7] = 2;
    assertThatThrownBy(run::execute)
        .hasMessage("the thread-id of B is 2, but 3 in lane 0; all threads must give the same");
  }

  /** A format without infinity, by its bits. */
  private record Small(int exponentBits, int fractionBits, int bias, int low) {

    static Small of(String type, boolean packed) {
      return switch (type) {
        case "e4m3" -> new Small(4, 3, 7, 0);
        case "e5m2" -> new Small(5, 2, 15, 0);
        case "e3m2" -> new Small(3, 2, 3, 0);
        case "e2m3" -> new Small(2, 3, 1, 0);
        case "e2m1" -> new Small(2, 1, 1, packed ? 0 : 2);
        default -> throw new IllegalArgumentException(type);
      };
    }

    private int exponent(int bits) {
      return (bits >>> (low + fractionBits)) & ((1 << exponentBits) - 1);
    }

    double value(int bits) {
      int exponent = exponent(bits);
      int fraction = (bits >>> low) & ((1 << fractionBits) - 1);
      boolean negative = (bits >>> (low + fractionBits + exponentBits) & 1) != 0;
      double size;
      if (exponentBits == 5 && exponent == 31) {
        size = fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
      } else if (exponentBits == 4 && exponent == 15 && fraction == 7) {
        size = Double.NaN;
      } else {
        size =
            Math.scalb(
                (exponent == 0 ? 0.0 : 1.0) + Math.scalb((double) fraction, -fractionBits),
                unbiased(bits));
      }
      return negative ? -size : size;
    }

    int unbiased(int bits) {
      return Math.max(exponent(bits), 1) - bias;
    }
  }

  /** An instruction with its registers. */
  private static final class Run {
    private final Modifiers modifiers;
    private final int depth;
    private final int blocks;
    private final boolean scaled;
    private final boolean half;
    private final Small formatA;
    private final Small formatB;
    private final int[][] sources;
    private final int firstC;

    Run(Modifiers modifiers) {
      this.modifiers = modifiers;
      depth = MatrixShape.of(modifiers).k();
      scaled = modifiers.has("block_scale");
      blocks = modifiers.has("scale_vec::4X") ? 4 : depth / 32;
      half = modifiers.types().getFirst().bits() == 16;
      formatA = Small.of(modifiers.types().get(1).word(), depth == 64);
      formatB = Small.of(modifiers.types().get(2).word(), depth == 64);
      firstC = 6;
      sources = new int[firstC + (half ? 2 : 4) + (scaled ? 6 : 0)][LANES];
    }

    void fill(Random random, int kind) {
      for (var words : sources) {
        Arrays.setAll(words, _ -> random.nextInt());
      }
      for (int i = firstC; i < firstC + (half ? 2 : 4); i++) {
        for (int lane = 0; lane < LANES; lane++) {
          sources[i][lane] =
              half
                  ? half(random) | half(random) << 16
                  : Float.floatToRawIntBits(
                      (float) Math.scalb(random.nextGaussian(), random.nextInt(40) - 20));
        }
      }
      if (scaled) {
        if (kind != 0) { // scale factors of similar size, so that sums are finite and round
          boolean powers = modifiers.types().getLast().word().equals("ue8m0");
          for (int i : new int[] {sources.length - 6, sources.length - 3}) {
            for (int lane = 0; lane < LANES; lane++) {
              sources[i][lane] = 0;
              for (int at = 0; at < 32; at += 8) {
                int scale =
                    powers ? 127 + random.nextInt(4 * kind) - 2 * kind : random.nextInt(0x7F);
                sources[i][lane] |= scale << at;
              }
            }
          }
        }
        select(
            blocks * random.nextInt(4 / blocks),
            random.nextInt(2),
            blocks * random.nextInt(4 / blocks),
            random.nextInt(4));
      }
      if (kind != 0) { // few NaNs
        for (int i = 0; i < firstC; i++) {
          for (int lane = 0; lane < LANES; lane++) {
            sources[i][lane] &= random.nextInt(8) == 0 ? -1 : 0xBFBF_BFBF;
          }
        }
      }
    }

    private static int half(Random random) {
      return Float.floatToFloat16((float) (random.nextGaussian() * 100)) & 0xFFFF;
    }

    void select(int... selectors) {
      int first = sources.length - 6;
      Arrays.fill(sources[first + 1], selectors[0]);
      Arrays.fill(sources[first + 2], selectors[1]);
      Arrays.fill(sources[first + 4], selectors[2]);
      Arrays.fill(sources[first + 5], selectors[3]);
    }

    int[][] execute() {
      var results = new int[half ? 2 : 4][LANES];
      MatrixProduct.MMA
          .bind(modifiers, TARGET)
          .apply(new WarpFunction.Call(modifiers, TARGET, -1), sources, results);
      return results;
    }

    int sum(int[][] registers, int row, int column) {
      int lane = 4 * (row % 8) + column / 2;
      int i = column % 2 + row / 8 * 2;
      return half ? registers[i / 2][lane] >>> (16 * (i % 2)) & 0xFFFF : registers[i][lane];
    }

    /**
     * Returns the bits of an element of a factor.
     *
     * @param first its first register
     * @param line row of A or column of B
     * @param high number of the upper registers per half of K
     */
    private int bits(int first, int line, int k, int high) {
      int per = depth == 64 ? 8 : 4;
      int t = k % (4 * per) / per;
      int register = first + line / 8 + high * (k / (4 * per));
      return sources[register][4 * (line % 8) + t] >>> (32 / per * (k % per));
    }

    private int scaleBits(int first, int lane, int k) {
      return sources[first][lane] >>> (8 * (sources[first + 1][0] + k * blocks / depth)) & 0xFF;
    }

    private int scaleA(int row, int k) {
      int first = sources.length - 6;
      return scaleBits(first, 4 * (row % 8) + 2 * sources[first + 2][0] + row / 8, k);
    }

    private int scaleB(int column, int k) {
      int first = sources.length - 3;
      return scaleBits(first, 4 * column + sources[first + 2][0], k);
    }

    private double scale(int bits) {
      if (!modifiers.types().getLast().word().equals("ue8m0")) {
        return new Small(4, 3, 7, 0).value(bits & 0x7F);
      }
      return bits == 255 ? Double.NaN : Math.scalb(1.0, bits - 127);
    }

    private int scaleExponent(int bits) {
      return modifiers.types().getLast().word().equals("ue8m0")
          ? bits - 127
          : new Small(4, 3, 7, 0).unbiased(bits & 0x7F);
    }

    int expected(int row, int column) {
      var a = new double[depth];
      var b = new double[depth];
      var exponents = new int[depth];
      for (int k = 0; k < depth; k++) {
        int left = bits(0, row, k, 2);
        int right = bits(4, column, k, 1);
        a[k] = formatA.value(left);
        b[k] = formatB.value(right);
        exponents[k] = formatA.unbiased(left) + formatB.unbiased(right);
        if (scaled) {
          a[k] *= scale(scaleA(row, k));
          b[k] *= scale(scaleB(column, k));
          exponents[k] += scaleExponent(scaleA(row, k)) + scaleExponent(scaleB(column, k));
        }
      }
      var format = half ? SlowTensorCore.Format.F16 : SlowTensorCore.Format.F32;
      var core = new SlowTensorCore(depth == 64 ? 35 : 25, format, 0, 0);
      int c = sum(Arrays.copyOfRange(sources, firstC, firstC + (half ? 2 : 4)), row, column);
      double sum =
          core.add(
              a, b, exponents, half ? Float.float16ToFloat((short) c) : Float.intBitsToFloat(c));
      return half
          ? Double.isNaN(sum) ? 0x7FFF : Float.floatToFloat16((float) sum) & 0xFFFF
          : Double.isNaN(sum) ? 0x7FFF_FFFF : Float.floatToRawIntBits((float) sum);
    }
  }
}
