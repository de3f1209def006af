package dev.athanor.engine.layout;

import static dev.athanor.engine.layout.Axis.BYTE;
import static dev.athanor.engine.layout.Axis.COLUMN;
import static dev.athanor.engine.layout.Axis.ELEMENT;
import static dev.athanor.engine.layout.Axis.LANE;
import static dev.athanor.engine.layout.Axis.REGISTER;
import static dev.athanor.engine.layout.Axis.ROW;
import static dev.athanor.engine.layout.Axis.WARP;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LinearLayoutTest {

  /** Two elements of a row, in four lanes, for eight rows. */
  private static final LinearLayout TILE =
      LinearLayout.of(ELEMENT, COLUMN, 2).times(LANE, COLUMN, 4).times(LANE, ROW, 8);

  @Test
  void mapsCoordinates() {
    for (int lane = 0; lane < 32; lane++) {
      for (int element = 0; element < 2; element++) {
        var at = Map.of(ELEMENT, element, LANE, lane);
        assertThat(TILE.apply(ROW, at)).isEqualTo(lane / 4);
        assertThat(TILE.apply(COLUMN, at)).isEqualTo(lane % 4 * 2 + element);
      }
    }
    assertThat(TILE.apply(ROW, Map.of(LANE, 31))).isEqualTo(7);
    assertThat(TILE.bases(LANE, ROW)).containsExactly(0, 0, 1, 2, 4);
  }

  @Test
  void copiesFollowEachOther() {
    var copies = TILE.times(WARP, ROW, 2).times(ELEMENT, COLUMN, 3);
    assertThat(copies.inputs()).isEqualTo(Dimensions.of(ELEMENT, 6).and(LANE, 32).and(WARP, 2));
    assertThat(copies.outputs()).isEqualTo(Dimensions.of(COLUMN, 24).and(ROW, 16));
    var at = Map.of(ELEMENT, 5, LANE, 6, WARP, 1);
    assertThat(copies.apply(COLUMN, at)).isEqualTo(2 * 8 + 2 * 2 + 1);
    assertThat(copies.apply(ROW, at)).isEqualTo(9);
    // every element exactly once, although 24 is not a power of two
    assertThat(IntStream.of(copies.table()).sorted().toArray()).containsExactly(numbers(24 * 16));
    assertThat(copies.then(copies.inverse()).table()).containsExactly(numbers(24 * 16));
  }

  private static int[] numbers(int count) {
    return IntStream.range(0, count).toArray();
  }

  @Test
  void randomBijectionsHaveInverses() {
    long seed = TestTier.seed();
    var random = new SplittableRandom(seed);
    var space = Dimensions.of(ELEMENT, 8).and(LANE, 32);
    var matrix = Dimensions.of(COLUMN, 16).and(ROW, 16);
    int bijections = 0;
    for (int round = 0; round < 500; round++) {
      var bases = random.ints(8, 0, 256).boxed().toList();
      var layout = new LinearLayout(space, matrix, bases);
      boolean isBijection = IntStream.of(layout.table()).distinct().count() == 256;
      if (isBijection) {
        bijections++;
        assertThat(layout.then(layout.inverse()).table())
            .as("seed %d, round %d", seed, round)
            .containsExactly(numbers(256));
      } else {
        assertThatIllegalArgumentException()
            .as("seed %d, round %d", seed, round)
            .isThrownBy(layout::inverse)
            .withMessageStartingWith("not a bijection: ");
      }
    }
    assertThat(bijections).isPositive().isLessThan(500);
  }

  @Test
  void followsALayout() {
    var rowMajor = LinearLayout.of(COLUMN, BYTE, 8).times(ROW, BYTE, 8);
    assertThat(TILE.then(rowMajor).apply(BYTE, Map.of(LANE, 5, ELEMENT, 1))).isEqualTo(8 + 3);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rowMajor.then(TILE))
        .withMessage(
            "a layout with the outputs [BYTE 64] cannot precede one with the inputs [ELEMENT 2, LANE 32]");
  }

  @Test
  void dividesIntoTiles() {
    var whole = TILE.times(ELEMENT, ROW, 2).times(ELEMENT, COLUMN, 3);
    assertThat(whole.dividedBy(TILE).orElseThrow().bases(ELEMENT, ROW)).containsExactly(1, 0, 0);
    assertThat(whole.dividedBy(TILE).orElseThrow().bases(ELEMENT, COLUMN)).containsExactly(0, 1, 2);
    assertThat(whole.dividedBy(TILE.transposed())).isEmpty();
    assertThat(whole.dividedBy(LinearLayout.of(WARP, ROW, 2))).isEmpty();
    assertThat(TILE.dividedBy(whole)).isEmpty();
  }

  @Test
  void findsContiguousElements() {
    assertThat(TILE.contiguous(ELEMENT, COLUMN)).isEqualTo(2);
    assertThat(TILE.contiguous(ELEMENT, ROW)).isEqualTo(1);
    assertThat(TILE.transposed().contiguous(ELEMENT, ROW)).isEqualTo(2);
    assertThat(LinearLayout.of(ELEMENT, COLUMN, 16).contiguous(ELEMENT, COLUMN)).isEqualTo(16);
    assertThat(LinearLayout.of(ELEMENT, COLUMN, 12).contiguous(ELEMENT, COLUMN)).isEqualTo(4);
    // the second element is next to the first, but some pairs are in reverse order
    var swapped =
        new LinearLayout(Dimensions.of(ELEMENT, 4), Dimensions.of(COLUMN, 4), List.of(1, 3));
    assertThat(swapped.contiguous(ELEMENT, COLUMN)).isEqualTo(1);
  }

  @Test
  void reordersAndSplits() {
    var split = TILE.times(ELEMENT, ROW, 2).split(ELEMENT, 2, REGISTER);
    assertThat(split.inputs()).isEqualTo(Dimensions.of(ELEMENT, 2).and(REGISTER, 2).and(LANE, 32));
    assertThat(split.bases(REGISTER, ROW)).containsExactly(8);
    var reordered = split.reordered(List.of(LANE, REGISTER, ELEMENT), List.of(ROW, COLUMN));
    var at = Map.of(ELEMENT, 1, LANE, 29, REGISTER, 1);
    assertThat(reordered.apply(ROW, at)).isEqualTo(15).isEqualTo(split.apply(ROW, at));
    assertThat(reordered.apply(COLUMN, at)).isEqualTo(3).isEqualTo(split.apply(COLUMN, at));
    assertThat(reordered).isNotEqualTo(split);
    assertThat(reordered.reordered(List.of(ELEMENT, REGISTER, LANE), List.of(COLUMN, ROW)))
        .isEqualTo(split)
        .hasSameHashCodeAs(split);
    assertThat(TILE.transposed().apply(COLUMN, Map.of(LANE, 31))).isEqualTo(7);
    assertThat(TILE.transposed().transposed()).isEqualTo(TILE);
  }

  @Test
  void printsBases() {
    var layout =
        new LinearLayout(
            Dimensions.of(ROW, 2).and(COLUMN, 4), Dimensions.of(BYTE, 8), List.of(5, 1, 0));
    assertThat(layout)
        .hasToString(
            """
            [ROW 2, COLUMN 4] -> [BYTE 8]
            ROW 1 -> BYTE 5
            COLUMN 1 -> BYTE 1
            COLUMN 2 -> 0\
            """);
  }

  @Test
  void explainsInvalidLayouts() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> new LinearLayout(Dimensions.of(ROW, 8), Dimensions.of(BYTE, 8), List.of(1, 2)))
        .withMessage("[ROW 8] has 3 bits, got 2 bases");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> new LinearLayout(Dimensions.of(ROW, 4), Dimensions.of(BYTE, 8), List.of(1, 8)))
        .withMessage("the basis 8 is outside of [BYTE 8]");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> new LinearLayout(Dimensions.of(ROW, 4), Dimensions.of(BYTE, 6), List.of(4, 2)))
        .withMessage("ROW 3 is mapped to BYTE 6, outside of [BYTE 6]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dimensions.of(ROW, 4).and(ROW, 2))
        .withMessage("an axis is given twice: [ROW 4, ROW 2]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dimensions.of(ROW, 0))
        .withMessage("the extent of ROW is positive, got 0");
  }

  @Test
  void explainsWhatIsNoBijection() {
    var matrix = Dimensions.of(COLUMN, 2).and(ROW, 2);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new LinearLayout(Dimensions.of(LANE, 4), matrix, List.of(3, 3)).inverse())
        .withMessage("not a bijection: LANE 3 has the same image as LANE 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new LinearLayout(Dimensions.of(LANE, 2), matrix, List.of(3)).inverse())
        .withMessage("not a bijection: 2 points of [LANE 2] are mapped to 4 of [COLUMN 2, ROW 2]");
  }

  @Test
  void explainsWrongDimensions() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TILE.apply(ROW, Map.of(WARP, 1)))
        .withMessage("no dimension WARP among [ELEMENT 2, LANE 32]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TILE.apply(BYTE, Map.of()))
        .withMessage("no dimension BYTE among [COLUMN 8, ROW 8]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TILE.apply(ROW, Map.of(LANE, 32)))
        .withMessage("LANE 32 is outside of [ELEMENT 2, LANE 32]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TILE.reordered(List.of(LANE), List.of(ROW, COLUMN)))
        .withMessage("[LANE] does not order [ELEMENT 2, LANE 32]");
  }

  @Test
  void explainsExtentsThatAreNoPowersOfTwo() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TILE.times(ELEMENT, COLUMN, 3).times(ELEMENT, COLUMN, 2))
        .withMessage(
            "cannot extend ELEMENT 6, which is not a power of two; make it the last factor");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TILE.split(LANE, 3, WARP))
        .withMessage("cannot split LANE 32 by 3; use a power of two that divides it");
  }
}
