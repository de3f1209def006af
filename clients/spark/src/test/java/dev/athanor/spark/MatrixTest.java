package dev.athanor.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.testing.TestTier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag(TestTier.THOROUGH_TAG)
class MatrixTest {

  @Test
  void copiesItsValues() {
    var values = new float[] {1, 2};
    var matrix = Matrix.of(1, 2, values);
    values[0] = 3;
    assertThat(matrix.values()).containsExactly(1, 2);
    assertThat(Matrix.ofRows(new float[] {1, 2}, new float[] {3, 4}).values())
        .containsExactly(1, 2, 3, 4);
  }

  @Test
  void rejectsInvalidMatrices() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Matrix.of(0, 3))
        .withMessage("A matrix needs at least 1 row and 1 column, got 0 × 3.");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Matrix.ofRows())
        .withMessage("A matrix needs at least 1 row and 1 column, got 0 × 0.");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Matrix.of(2, 3, 1, 2))
        .withMessage("A matrix of 2 × 3 has 6 values, got 2.");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Matrix.ofRows(new float[] {1, 2}, new float[] {3}))
        .withMessage(
            "Row 1 of the matrix has 1 values, but row 0 has 2; all rows must have the same length.");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Matrix.of(2, 2, 1, 2, 3, Float.NaN))
        .withMessage("Element [1, 1] of the matrix is NaN; all elements must be finite.");
  }
}
