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
          Fragments.a(8, 4, 64),
          Fragments.a(16, 256, 1),
          Fragments.b(64, 4),
          Fragments.c(8),
          Fragments.wide(8),
          Fragments.wide(24),
          Fragments.wide(256),
          Fragments.tiled(Fragments.a(16, 16, 16), 32, 16),
          Fragments.transposed(Fragments.tiled(Fragments.c(16), 32, 8)),
          Fragments.tensorMemory("32x32b", 4),
          Fragments.tensorMemory("16x64b", 1),
          Fragments.tensorMemory("16x128b", 2),
          Fragments.tensorMemory("16x256b", 32),
          Fragments.SCALES_A,
          Fragments.SCALES_B,
          Fragments.MATRIX_8X8,
          Fragments.MATRIX_8X8_TRANSPOSED);

  @ParameterizedTest
  @FieldSource("ALL")
  void indicesAreAPermutation(Fragment fragment) {
    var indices = fragment.indices();
    assertThat(Arrays.stream(indices).distinct().count()).isEqualTo(indices.length);
    assertThat(indices).hasSize(fragment.rows() * fragment.columns());
  }

  /** Positions in the manual's figures (PTX ISA 9.7.14.5.8, m16n8k16). */
  @Test
  void elementsMatchTheManualsFigures() {
    assertThat(Fragments.A_16X16.at(0, 0)).isEqualTo(new Coordinate(0, 0));
    assertThat(Fragments.A_16X16.at(0, 2)).isEqualTo(new Coordinate(8, 0));
    assertThat(Fragments.A_16X16.at(0, 4)).isEqualTo(new Coordinate(0, 8));
    assertThat(Fragments.A_16X16.at(31, 7)).isEqualTo(new Coordinate(15, 15));
    assertThat(Fragments.B_16X8.at(4, 0)).isEqualTo(new Coordinate(0, 1));
    assertThat(Fragments.B_16X8.at(1, 3)).isEqualTo(new Coordinate(11, 0));
    assertThat(Fragments.C_16X8.at(5, 3)).isEqualTo(new Coordinate(9, 3));
    assertThat(Fragments.MATRIX_8X8.at(5, 1)).isEqualTo(new Coordinate(1, 3));
    assertThat(Fragments.MATRIX_8X8_TRANSPOSED.at(5, 1)).isEqualTo(new Coordinate(3, 1));
  }

  /**
   * The manual's formulas for row and column (sections 9.7.14.5.2 to 9.7.14.5.13), with g = laneid
   * / 4, t = laneid % 4 and element i, as printed there.
   */
  @Test
  void elementsMatchTheManualsFormulas() {
    is(Fragments.a(8, 4, 64), (g, t, _) -> new Coordinate(g, t));
    is(Fragments.b(4, 64), (g, t, _) -> new Coordinate(t, g));
    is(Fragments.c(8), (g, t, i) -> new Coordinate(g, t * 2 + (i & 1)));
    is(Fragments.a(8, 16, 8), (g, t, i) -> new Coordinate(g, t * 4 + i));
    is(Fragments.b(16, 8), (g, t, i) -> new Coordinate(t * 4 + i, g));
    is(Fragments.a(8, 32, 4), (g, t, i) -> new Coordinate(g, t * 8 + i));
    is(Fragments.b(32, 4), (g, t, i) -> new Coordinate(t * 8 + i, g));
    is(Fragments.a(8, 128, 1), (g, t, i) -> new Coordinate(g, t * 32 + i));
    is(Fragments.b(128, 1), (g, t, i) -> new Coordinate(t * 32 + i, g));
    is(Fragments.a(16, 4, 32), (g, t, i) -> new Coordinate(i == 0 ? g : g + 8, t));
    is(Fragments.a(16, 4, 64), (g, t, i) -> new Coordinate(i == 0 ? g : g + 8, t));
    is(Fragments.b(4, 32), (g, t, _) -> new Coordinate(t, g));
    is(Fragments.c(16), (g, t, i) -> new Coordinate(i < 2 ? g : g + 8, t * 2 + (i & 1)));
    is(Fragments.a(16, 8, 16), (g, t, i) -> new Coordinate(i < 2 ? g : g + 8, t * 2 + (i & 1)));
    is(Fragments.b(8, 16), (g, t, i) -> new Coordinate(t * 2 + i, g));
    is(
        Fragments.a(16, 8, 32),
        (g, t, i) -> new Coordinate(i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4));
    is(Fragments.b(8, 32), (g, t, i) -> new Coordinate(i == 0 ? t : t + 4, g));
    is(
        Fragments.a(16, 16, 16),
        (g, t, i) ->
            new Coordinate(
                i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)));
    is(Fragments.b(16, 16), (g, t, i) -> new Coordinate(t * 2 + (i & 1) + (i < 2 ? 0 : 8), g));
    is(
        Fragments.a(16, 16, 64),
        (g, t, i) ->
            i % 2 == 0 ? new Coordinate(g, i * 2 + t) : new Coordinate(g + 8, i * 2 - 2 + t));
    is(Fragments.b(16, 64), (g, t, i) -> new Coordinate(t + i * 4, g));
    is(Fragments.a(16, 16, 8), (g, t, i) -> new Coordinate(i < 4 ? g : g + 8, t * 4 + (i & 3)));
    is(
        Fragments.a(16, 32, 8),
        (g, t, i) ->
            new Coordinate(
                i < 4 || (8 <= i && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)));
    is(Fragments.b(32, 8), (g, t, i) -> new Coordinate(t * 4 + (i & 3) + (i < 4 ? 0 : 16), g));
    is(
        Fragments.a(16, 64, 4),
        (g, t, i) ->
            new Coordinate(
                i < 8 || (16 <= i && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)));
    is(Fragments.b(64, 4), (g, t, i) -> new Coordinate(t * 8 + (i & 7) + (i < 8 ? 0 : 32), g));
    is(
        Fragments.a(16, 128, 1),
        (g, t, i) -> new Coordinate(i < 32 ? g : g + 8, t * 32 + (i & 0x1F)));
    is(
        Fragments.a(16, 256, 1),
        (g, t, i) ->
            new Coordinate(
                i < 32 || (64 <= i && i < 96) ? g : g + 8,
                t * 32 + (i & 0x1F) + (i < 64 ? 0 : 128)));
    is(
        Fragments.b(256, 1),
        (g, t, i) -> new Coordinate(t * 32 + (i & 0x1F) + (i < 32 ? 0 : 128), g));
  }

  /** A thread pair of a quad holds the scale factors of two rows of A (PTX ISA 9.7.14.3). */
  @Test
  void scaleFactorsAreChosenByByteAndThread() {
    is(Fragments.SCALES_A, (g, t, i) -> new Coordinate(g + t % 2 * 8, t / 2 * 4 + i));
    is(Fragments.SCALES_B, (g, t, i) -> new Coordinate(g, t * 4 + i));
  }

  /** A formula of the manual. */
  private interface Formula {
    Coordinate at(int group, int threadInGroup, int element);
  }

  private static void is(Fragment fragment, Formula formula) {
    for (int lane = 0; lane < Fragment.LANES; lane++) {
      for (int i = 0; i < fragment.elements(); i++) {
        assertThat(fragment.at(lane, i))
            .as("%s, element %d of lane %d", fragment.name(), i, lane)
            .isEqualTo(formula.at(lane >> 2, lane % 4, i));
      }
    }
  }

  /** D of {@code wgmma} (section 9.7.15.5.1), whose columns are any multiple of 8. */
  @Test
  void elementsOfWideFragmentsMatchTheManualsFormulas() {
    for (int columns = 8; columns <= 256; columns += 8) {
      is(
          Fragments.wide(columns),
          (g, t, i) -> new Coordinate(g + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2));
    }
  }

  @Test
  void tilesFollowEachOtherAlongRows() {
    var tiled = Fragments.tiled(Fragments.c(16), 32, 16);
    assertThat(tiled.at(5, 3)).isEqualTo(new Coordinate(9, 3));
    assertThat(tiled.at(5, 7)).isEqualTo(new Coordinate(9, 11));
    assertThat(tiled.at(5, 11)).isEqualTo(new Coordinate(25, 3));
    assertThat(Fragments.transposed(tiled).at(5, 7)).isEqualTo(new Coordinate(11, 9));
  }

  /** ldmatrix.x4 delivers A as its four 8x8 quadrants, in the order of the fragment's registers. */
  @Test
  void quadrantsOfAAreLdmatrixMatrices() {
    for (int lane = 0; lane < Fragment.LANES; lane++) {
      for (int register = 0; register < 4; register++) {
        for (int half = 0; half < 2; half++) {
          var inMatrix = Fragments.MATRIX_8X8.at(lane, half);
          assertThat(Fragments.A_16X16.at(lane, 2 * register + half))
              .isEqualTo(
                  new Coordinate(
                      inMatrix.row() + 8 * (register % 2), inMatrix.column() + 8 * (register / 2)));
        }
      }
    }
  }

  @Test
  void rejectsNonBijections() {
    var lanes = Dimensions.of(Axis.ELEMENT, 2).and(Axis.LANE, 32);
    var matrix = Dimensions.of(Axis.COLUMN, 8).and(Axis.ROW, 8);
    var layout = new LinearLayout(lanes, matrix, List.of(1, 1, 2, 4, 8, 16));
    assertThatThrownBy(() -> new Fragment("bad", layout))
        .hasMessage(
            "bad is not a bijection: ELEMENT 1, LANE 1 has the same image as ELEMENT 0, LANE 0");
    assertThatThrownBy(
            () -> new Fragment("bad", Fragments.c(8).layout().times(Axis.LANE, Axis.ROW, 2)))
        .hasMessage("bad is distributed over 64 lanes; a warp has 32");
  }

  @Test
  void printsTheLayout() {
    assertThat(Fragments.MATRIX_8X8.toString())
        .startsWith("8x8\n 0.0  0.1  1.0  1.1")
        .contains("\n 4.0");
  }
}
