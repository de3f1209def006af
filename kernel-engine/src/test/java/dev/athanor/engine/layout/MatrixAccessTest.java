package dev.athanor.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class MatrixAccessTest {

  private static LinearLayout twoOfB(int rows, int bits) {
    return Fragments.tiled(Fragments.b(rows, bits), rows, 16).layout();
  }

  static Stream<Arguments> fragments() {
    return Stream.of(
        Arguments.of(Fragments.A_16X16.layout(), 2, false),
        Arguments.of(Fragments.A_16X16.layout().transposed(), 2, true),
        Arguments.of(Fragments.MATRIX_8X8.layout(), 2, false),
        Arguments.of(Fragments.B_16X8.layout(), 2, true),
        Arguments.of(twoOfB(16, 16), 2, true),
        Arguments.of(twoOfB(16, 16).transposed(), 2, false),
        Arguments.of(Fragments.a(16, 32, 8).layout(), 1, false),
        Arguments.of(twoOfB(32, 8).transposed(), 1, false),
        Arguments.of(Fragments.BYTE_PAIRS_32X16.layout(), 1, true),
        Arguments.of(Fragments.a(16, 8, 32).layout(), 4, false),
        Arguments.of(twoOfB(8, 32).transposed(), 4, false));
  }

  /** The lanes' addresses and PTX ISA 9.7.14.5.15 give each lane the elements of the fragment. */
  @ParameterizedTest
  @MethodSource("fragments")
  void lanesReceiveTheirElements(LinearLayout fragment, int bytes, boolean transposed) {
    var access = MatrixAccess.of(fragment, bytes);
    assertThat(access.transposed()).isEqualTo(transposed);
    // a lane has 4 bytes of each matrix
    int ofMatrix = 4 / bytes;
    for (int lane = 0; lane < Fragment.LANES; lane++) {
      for (int i = 0; i < access.count() * ofMatrix; i++) {
        int matrix = i / ofMatrix;
        // the 16-bit units of a lane in a matrix, and the bytes in a unit
        int of = i % ofMatrix * bytes;
        int unit = 2 * (lane % 4) + of / 2;
        int row = transposed ? unit : lane / 4;
        int inRow = (transposed ? lane / 4 : unit) * 2 + of % 2;
        var addressed = Map.of(Axis.LANE, 8 * matrix + row);
        var element = Map.of(Axis.LANE, lane, Axis.ELEMENT, i);
        assertThat(access.rows().apply(Axis.ROW, addressed))
            .isEqualTo(fragment.apply(Axis.ROW, element));
        assertThat(access.rows().apply(Axis.COLUMN, addressed) + inRow / bytes)
            .isEqualTo(fragment.apply(Axis.COLUMN, element));
      }
    }
  }

  @Test
  void rejectsOtherFragments() {
    assertThatThrownBy(() -> MatrixAccess.of(Fragments.A_16X16.layout(), 4))
        .hasMessageStartingWith(
            "ldmatrix and stmatrix access 1, 2 or 4 matrices of eight rows of 16 bytes, got "
                + "[ELEMENT 8, LANE 32] -> [COLUMN 16, ROW 16]");
    assertThatThrownBy(() -> MatrixAccess.of(Fragments.a(16, 64, 16).layout(), 2))
        .hasMessageContaining("access 1, 2 or 4 matrices");
    assertThatThrownBy(() -> MatrixAccess.of(Fragments.a(16, 8, 32).layout().transposed(), 4))
        .hasMessageContaining("access 1, 2 or 4 matrices");
  }
}
