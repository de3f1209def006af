package dev.athanor.engine.layout;

import java.util.List;

/**
 * The distribution of a matrix over the 32 lanes of a warp.
 *
 * @param name the layout's name, such as {@code A 16x16}
 * @param layout from elements and lanes to columns and rows
 */
public record Fragment(String name, LinearLayout layout) {

  /** The number of lanes of a warp. */
  public static final int LANES = 32;

  /** Row and column of an element. */
  public record Coordinate(int row, int column) {}

  /**
   * Checks that the layout is a bijection between the elements of a warp and those of the matrix.
   *
   * @throws IllegalArgumentException if it is not
   */
  public Fragment {
    layout = layout.reordered(List.of(Axis.ELEMENT, Axis.LANE), List.of(Axis.COLUMN, Axis.ROW));
    if (layout.inputs().extent(Axis.LANE) != LANES) {
      throw new IllegalArgumentException(
          "%s is distributed over %d lanes; a warp has %d"
              .formatted(name, layout.inputs().extent(Axis.LANE), LANES));
    }
    try {
      layout.inverse();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(name + " is " + e.getMessage(), e);
    }
  }

  /** Returns the number of rows of the matrix. */
  public int rows() {
    return layout.outputs().extent(Axis.ROW);
  }

  /** Returns the number of columns of the matrix. */
  public int columns() {
    return layout.outputs().extent(Axis.COLUMN);
  }

  /** Returns the number of elements per lane. */
  public int elements() {
    return layout.inputs().extent(Axis.ELEMENT);
  }

  /** Returns the place of element {@code element} of lane {@code lane}. */
  public Coordinate at(int lane, int element) {
    int image = layout.apply(lane << layout.inputs().offset(Axis.LANE) | element);
    return new Coordinate(
        layout.outputs().coordinate(Axis.ROW, image),
        layout.outputs().coordinate(Axis.COLUMN, image));
  }

  /** Returns the row-major index of each element, at {@code lane * elements + element}. */
  public int[] indices() {
    return layout.table();
  }

  /** Returns a table of the matrix with {@code lane.element} in each cell. */
  @Override
  public String toString() {
    var text = new StringBuilder(name);
    int[] holders = layout.inverse().table();
    for (int i = 0; i < holders.length; i++) {
      text.append(i % columns() == 0 ? '\n' : ' ')
          .append("%2d.%d".formatted(holders[i] / elements(), holders[i] % elements()));
    }
    return text.toString();
  }
}
