package dev.athanor.engine.layout;

/**
 * The distribution of a matrix over the 32 lanes of a warp.
 *
 * @param name the layout's name, such as {@code A 16x16}
 * @param rows rows of the matrix
 * @param columns columns of the matrix
 * @param elements number of elements per lane
 * @param mapping the row and column of each lane's elements
 */
public record Fragment(String name, int rows, int columns, int elements, Mapping mapping) {

  /** The number of lanes of a warp. */
  public static final int LANES = 32;

  /** Maps element {@code element} of lane {@code lane} to its row and column. */
  @FunctionalInterface
  public interface Mapping {
    Coordinate at(int lane, int element);
  }

  /** Row and column of an element. */
  public record Coordinate(int row, int column) {}

  /**
   * Checks that the mapping is a bijection.
   *
   * @throws IllegalArgumentException if it is not, naming the first violation
   */
  public Fragment {
    if (rows * columns != LANES * elements) {
      throw new IllegalArgumentException(
          "%s has %d elements but %d lanes hold %d each"
              .formatted(name, rows * columns, LANES, elements));
    }
    var held = new boolean[rows * columns];
    for (int lane = 0; lane < LANES; lane++) {
      for (int element = 0; element < elements; element++) {
        var at = mapping.at(lane, element);
        if (at.row() < 0 || at.row() >= rows || at.column() < 0 || at.column() >= columns) {
          throw new IllegalArgumentException(
              "%s: element %d of lane %d is at %s, outside %dx%d"
                  .formatted(name, element, lane, at, rows, columns));
        }
        if (held[at.row() * columns + at.column()]) {
          throw new IllegalArgumentException(
              "%s: %s is held twice, again by element %d of lane %d"
                  .formatted(name, at, element, lane));
        }
        held[at.row() * columns + at.column()] = true;
      }
    }
  }

  /** Returns the row-major index of each element, at {@code lane * elements + element}. */
  public int[] indices() {
    var all = new int[LANES * elements];
    for (int i = 0; i < all.length; i++) {
      var at = mapping.at(i / elements, i % elements);
      all[i] = at.row() * columns + at.column();
    }
    return all;
  }

  /** Returns a table of the matrix with {@code lane.element} in each cell. */
  @Override
  public String toString() {
    var at = new String[rows][columns];
    for (int lane = 0; lane < LANES; lane++) {
      for (int element = 0; element < elements; element++) {
        var c = mapping.at(lane, element);
        at[c.row()][c.column()] = "%2d.%d".formatted(lane, element);
      }
    }
    var text = new StringBuilder(name);
    for (var row : at) {
      text.append('\n').append(String.join(" ", row));
    }
    return text.toString();
  }
}
