package dev.athanor.engine.layout;

import java.util.List;
import java.util.Set;

/**
 * How {@code ldmatrix} and {@code stmatrix} access a fragment of one, two or four matrices in
 * shared memory. A matrix has eight rows of 16 bytes.
 *
 * @param rows from lanes to the rows and columns whose addresses they give: lane {@code 8m + r}
 *     that of row {@code r} of matrix {@code m}
 * @param transposed whether the instruction transposes the matrices
 */
public record MatrixAccess(LinearLayout rows, boolean transposed) {

  private static final int ROWS = 8;
  private static final Set<Integer> COUNTS = Set.of(1, 2, 4);

  /**
   * Returns the access of a fragment.
   *
   * @param fragment from elements and lanes to rows and columns in shared memory
   * @param bytes of an element
   * @throws IllegalArgumentException if the fragment does not consist of so many matrices
   */
  public static MatrixAccess of(LinearLayout fragment, int bytes) {
    var plain = Fragments.a(ROWS, Swizzle.CHUNK / bytes, Byte.SIZE * bytes).layout();
    var outer = fragment.dividedBy(plain);
    boolean transposed = outer.isEmpty() && bytes <= 2;
    if (transposed) {
      outer = fragment.dividedBy(Fragments.transposedMatrix(bytes));
    }
    return outer
        .filter(
            each -> COUNTS.contains(each.inputs().size()) && each.inputs().extent(Axis.LANE) == 1)
        .map(each -> new MatrixAccess(rows(each, bytes), transposed))
        .orElseThrow(() ->
            new IllegalArgumentException(
                "ldmatrix and stmatrix access 1, 2 or 4 matrices of eight rows of 16 bytes, got %s"
                    .formatted(fragment)));
  }

  private static LinearLayout rows(LinearLayout ofMatrices, int bytes) {
    var matrix = Dimensions.of(Axis.ROW, ROWS).and(Axis.COLUMN, Swizzle.CHUNK / bytes);
    return new LinearLayout(Dimensions.of(Axis.LANE, ROWS), matrix, List.of(1, 2, 4))
        .times(
            new LinearLayout(
                Dimensions.of(Axis.LANE, ofMatrices.inputs().size()),
                ofMatrices.outputs(),
                ofMatrices.bases()));
  }

  /** Returns the number of matrices, which is also that of the registers of a lane. */
  public int count() {
    return rows.inputs().extent(Axis.LANE) / ROWS;
  }
}
