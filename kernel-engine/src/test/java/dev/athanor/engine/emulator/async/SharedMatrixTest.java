package dev.athanor.engine.emulator.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.emulator.Boxes;
import dev.athanor.engine.layout.Fragments;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Descriptors address the same elements that tensor copies store. */
class SharedMatrixTest {

  private static void expectSame(Boxes boxes, int step) {
    for (int column = 0; column < boxes.depth(); column += step) {
      var matrix = SharedMatrix.of(boxes.descriptor(column), boxes.byDepth(), boxes.size());
      for (int i = 0; i < boxes.outer(); i++) {
        for (int j = 0; j < step; j++) {
          assertThat(matrix.address(i, j))
              .as("%s, row %d, column %d", boxes, i, column + j)
              .isEqualTo(boxes.address(i, column + j));
        }
      }
    }
  }

  /** A step advances 32 bytes along rows, also across boxes. */
  @ParameterizedTest
  @CsvSource({"NONE", "BYTES_32", "BYTES_64", "BYTES_128"})
  void alongTheDepth(SwizzleMode swizzle) {
    for (int size : new int[] {1, 2, 4}) {
      expectSame(new Boxes(4096, swizzle, true, size, 128, 256 / size), 32 / size);
    }
  }

  /** A step advances 16 rows. */
  @ParameterizedTest
  @EnumSource(SwizzleMode.class)
  void transposedAlongTheDepth(SwizzleMode swizzle) {
    expectSame(new Boxes(8192, swizzle, false, 2, 256, 64), 16);
  }

  @Test
  void offsetWithinASwizzlePattern() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SharedMatrix.of(1L << 62 | 3L << 49, true, 2))
        .withMessage(
            "the descriptor 0x4006000000000000 has the base offset 3; only 0 is supported, which"
                + " is that of matrices aligned to the repeat of their swizzle");
  }

  /** Eight rows of one chunk are in eight different bank groups. */
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void rowsInDifferentBanks(SwizzleMode swizzle) {
    int width = swizzle.width();
    for (int chunk = 0; chunk < width / 16; chunk++) {
      int at = 16 * chunk;
      assertThat(
              IntStream.range(0, 8)
                  .mapToLong(row -> swizzle.place(row * width + at) % 128)
                  .distinct())
          .hasSize(8);
    }
  }

  /** Evaluates a layout at an index; sizes and strides start with the fastest dimension. */
  private static int layout(int index, int... sizesAndStrides) {
    int half = sizesAndStrides.length / 2;
    int sum = 0;
    for (int i = 0; i < half; i++) {
      sum += index % sizesAndStrides[i] * sizesAndStrides[half + i];
      index /= sizesAndStrides[i];
    }
    return sum;
  }

  /** The strides by which CUTLASS describes D: 64 rows, column after column. */
  @ParameterizedTest
  @ValueSource(ints = {8, 64, 256})
  void warpgroupAccumulators(int n) {
    var fragment = Fragments.wide(n);
    for (int thread = 0; thread < 128; thread++) {
      for (int i = 0; i < n / 2; i++) {
        var place = fragment.at(thread % 32, i);
        assertThat(16 * (thread / 32) + place.row() + 64 * place.column())
            .isEqualTo(layout(thread, 4, 8, 4, 128, 1, 16) + layout(i, 2, 2, n / 8, 64, 8, 512));
      }
    }
  }

  /** The same for A with 64 rows in registers. */
  @ParameterizedTest
  @CsvSource({"16", "8", "32"})
  void warpgroupFactors(int bits) {
    var fragment = Fragments.a(16, 256 / bits, bits);
    for (int thread = 0; thread < 128; thread++) {
      for (int i = 0; i < 4 * 32 / bits; i++) {
        var place = fragment.at(thread % 32, i);
        int expected =
            switch (bits) {
              case 16 -> layout(thread, 4, 8, 4, 128, 1, 16) + layout(i, 2, 2, 2, 64, 8, 512);
              case 8 -> layout(thread, 4, 8, 4, 256, 1, 16) + layout(i, 4, 2, 2, 64, 8, 1024);
              default -> layout(thread, 4, 8, 4, 64, 1, 16) + layout(i, 2, 2, 8, 256);
            };
        assertThat(16 * (thread / 32) + place.row() + 64 * place.column()).isEqualTo(expected);
      }
    }
  }

  /** Accumulators packed in pairs are A of the next product. */
  @Test
  void accumulatorsAreFactorsOfTheNextProduct() {
    var sums = Fragments.wide(64);
    var factors = Fragments.a(16, 16, 16);
    for (int lane = 0; lane < 32; lane++) {
      for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 8; i++) {
          var sum = sums.at(lane, 8 * step + i);
          var factor = factors.at(lane, i);
          assertThat(sum.row()).isEqualTo(factor.row());
          assertThat(sum.column()).isEqualTo(16 * step + factor.column());
        }
      }
    }
  }

  /** The addresses at which {@code stmatrix} stores a tile of D for a swizzled copy. */
  @Test
  void storedMatricesMatchASwizzledBox() {
    var boxes = new Boxes(0, SwizzleMode.BYTES_128, true, 2, 64, 64);
    var fragment = Fragments.wide(64);
    for (int warp = 0; warp < 4; warp++) {
      for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 32; i++) {
          int matrix = i / 2 % 4;
          int giver = 8 * matrix + lane / 4;
          int row = 16 * warp + giver / 8 % 2 * 8 + giver % 8;
          int chunk = 2 * (i / 8) + giver / 16;
          int address = row * 128 + ((chunk ^ (row & 7)) << 4) + 4 * (lane % 4) + 2 * (i % 2);
          var place = fragment.at(lane, i);
          assertThat(boxes.address(16 * warp + place.row(), place.column())).isEqualTo(address);
        }
      }
    }
  }
}
