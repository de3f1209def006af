package dev.athanor.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.layout.Fragment.Coordinate;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

class FragmentTest {

  static final List<Fragment> ALL =
      List.of(
          Fragments.A_16X16,
          Fragments.B_16X8,
          Fragments.C_16X8,
          Fragments.MATRIX_8X8,
          Fragments.MATRIX_8X8_TRANSPOSED);

  @ParameterizedTest
  @FieldSource("ALL")
  void indicesAreEveryPlaceOnce(Fragment fragment) {
    var indices = fragment.indices();
    assertThat(Arrays.stream(indices).distinct().count()).isEqualTo(indices.length);
    assertThat(indices).hasSize(fragment.rows() * fragment.columns());
  }

  /** Places read off the figures of the manual (PTX ISA 9.7.14.5.8, m16n8k16). */
  @Test
  void elementsAreWhereTheManualSays() {
    assertThat(Fragments.A_16X16.place().at(0, 0)).isEqualTo(new Coordinate(0, 0));
    assertThat(Fragments.A_16X16.place().at(0, 2)).isEqualTo(new Coordinate(8, 0));
    assertThat(Fragments.A_16X16.place().at(0, 4)).isEqualTo(new Coordinate(0, 8));
    assertThat(Fragments.A_16X16.place().at(31, 7)).isEqualTo(new Coordinate(15, 15));
    assertThat(Fragments.B_16X8.place().at(4, 0)).isEqualTo(new Coordinate(0, 1));
    assertThat(Fragments.B_16X8.place().at(1, 3)).isEqualTo(new Coordinate(11, 0));
    assertThat(Fragments.C_16X8.place().at(5, 3)).isEqualTo(new Coordinate(9, 3));
    assertThat(Fragments.MATRIX_8X8.place().at(5, 1)).isEqualTo(new Coordinate(1, 3));
    assertThat(Fragments.MATRIX_8X8_TRANSPOSED.place().at(5, 1)).isEqualTo(new Coordinate(3, 1));
  }

  /** ldmatrix.x4 hands out A as its four 8x8 corners, in the order of the fragment's registers. */
  @Test
  void cornersOfAAreMatrices() {
    for (int lane = 0; lane < Fragment.LANES; lane++) {
      for (int register = 0; register < 4; register++) {
        for (int half = 0; half < 2; half++) {
          var inMatrix = Fragments.MATRIX_8X8.place().at(lane, half);
          assertThat(Fragments.A_16X16.place().at(lane, 2 * register + half))
              .isEqualTo(
                  new Coordinate(
                      inMatrix.row() + 8 * (register % 2), inMatrix.column() + 8 * (register / 2)));
        }
      }
    }
  }

  @Test
  void refusesWhatIsNoBijection() {
    assertThatThrownBy(() -> new Fragment("bad", 8, 8, 2, (_, i) -> new Coordinate(0, i)))
        .hasMessage("bad: Coordinate[row=0, column=0] is held twice, again by element 0 of lane 1");
    assertThatThrownBy(() -> new Fragment("bad", 8, 8, 2, (_, _) -> new Coordinate(8, 0)))
        .hasMessage("bad: element 0 of lane 0 is at Coordinate[row=8, column=0], outside 8x8");
    assertThatThrownBy(() -> new Fragment("bad", 8, 9, 2, (_, _) -> new Coordinate(0, 0)))
        .hasMessage("bad has 72 places but 32 lanes hold 2 each");
  }

  @Test
  void printsWhoHoldsWhat() {
    assertThat(Fragments.MATRIX_8X8.toString())
        .startsWith("8x8\n 0.0  0.1  1.0  1.1")
        .contains("\n 4.0");
  }
}
