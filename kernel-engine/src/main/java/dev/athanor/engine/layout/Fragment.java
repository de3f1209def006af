package dev.athanor.engine.layout;

/**
 * How the 32 lanes of a warp hold a matrix: element {@code i} of lane {@code l} is at one row and
 * column.
 *
 * @param name what the layout is called, {@code A 16x16}
 * @param rows the rows of the matrix
 * @param columns its columns
 * @param elements how many elements a lane holds
 */
public record Fragment(String name, int rows, int columns, int elements, Place place) {

  /** The number of lanes of a warp. */
  public static final int LANES = 32;

  /** Where element {@code element} of lane {@code lane} is. */
  @FunctionalInterface
  public interface Place {
    Coordinate at(int lane, int element);
  }

  /** A place in a matrix. */
  public record Coordinate(int row, int column) {}

  /**
   * Checks that every place of the matrix is held exactly once.
   *
   * @throws IllegalArgumentException when the layout is no bijection, naming the first bad place
   */
  public Fragment {
    if (rows * columns != LANES * elements) {
      throw new IllegalArgumentException(
          "%s has %d places but %d lanes hold %d each"
              .formatted(name, rows * columns, LANES, elements));
    }
    var held = new boolean[rows * columns];
    for (int lane = 0; lane < LANES; lane++) {
      for (int element = 0; element < elements; element++) {
        var at = place.at(lane, element);
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

  /** The row-major index of every element: entry {@code lane * elements + element}. */
  public int[] indices() {
    var all = new int[LANES * elements];
    for (int i = 0; i < all.length; i++) {
      var at = place.at(i / elements, i % elements);
      all[i] = at.row() * columns + at.column();
    }
    return all;
  }

  /** A picture with {@code lane.element} at every place. */
  @Override
  public String toString() {
    var at = new String[rows][columns];
    for (int lane = 0; lane < LANES; lane++) {
      for (int element = 0; element < elements; element++) {
        var c = place.at(lane, element);
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
