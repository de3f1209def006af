package dev.athanor.engine.layout;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * Named dimensions. Their coordinates are packed into the bits of one integer, the first dimension
 * in the lowest bits.
 *
 * @param all each axis at most once
 */
public record Dimensions(List<Dimension> all) {

  /** A dimension whose coordinates are from 0, inclusive, to {@code extent}, exclusive. */
  public record Dimension(Axis axis, int extent) {
    public Dimension {
      if (extent < 1) {
        throw new IllegalArgumentException(
            "the extent of %s is positive, got %d".formatted(axis, extent));
      }
    }

    int bits() {
      return Integer.SIZE - Integer.numberOfLeadingZeros(extent - 1);
    }

    @Override
    public String toString() {
      return axis + " " + extent;
    }
  }

  public Dimensions {
    all = List.copyOf(all);
    if (all.stream().map(Dimension::axis).distinct().count() < all.size()) {
      throw new IllegalArgumentException("an axis is given twice: " + all);
    }
  }

  /** Returns one dimension. */
  public static Dimensions of(Axis axis, int extent) {
    return new Dimensions(List.of(new Dimension(axis, extent)));
  }

  /** Returns these dimensions, followed by another. */
  public Dimensions and(Axis axis, int extent) {
    var more = new ArrayList<>(all);
    more.add(new Dimension(axis, extent));
    return new Dimensions(more);
  }

  boolean has(Axis axis) {
    return all.stream().anyMatch(each -> each.axis == axis);
  }

  /** Returns the extent of an axis; 1 if there is no such dimension. */
  public int extent(Axis axis) {
    return has(axis) ? get(axis).extent : 1;
  }

  /** Returns the bits of a coordinate; 0 if there is no such dimension. */
  int bits(Axis axis) {
    return has(axis) ? get(axis).bits() : 0;
  }

  private Dimension get(Axis axis) {
    return all.get(index(axis));
  }

  private int index(Axis axis) {
    int i = 0;
    while (i < all.size() && all.get(i).axis != axis) {
      i++;
    }
    if (i == all.size()) {
      throw new IllegalArgumentException("no dimension %s among %s".formatted(axis, all));
    }
    return i;
  }

  /** Returns the bits of packed coordinates. */
  int bits() {
    return all.stream().mapToInt(Dimension::bits).sum();
  }

  /** Returns the number of points: the product of the extents. */
  public int size() {
    return all.stream().mapToInt(Dimension::extent).reduce(1, Math::multiplyExact);
  }

  boolean arePowersOfTwo() {
    return size() == 1 << bits();
  }

  /** Returns the lowest bit of a coordinate in packed coordinates. */
  int offset(Axis axis) {
    int offset = 0;
    for (var lower : all.subList(0, index(axis))) {
      offset += lower.bits();
    }
    return offset;
  }

  /**
   * Packs coordinates; those that are not given are 0.
   *
   * @throws IllegalArgumentException if there is no such dimension or the coordinate is outside
   */
  public int pack(Map<Axis, Integer> coordinates) {
    int packed = 0;
    for (var each : coordinates.entrySet()) {
      var dimension = get(each.getKey());
      if (each.getValue() < 0 || each.getValue() >= dimension.extent) {
        throw new IllegalArgumentException(
            "%s %d is outside of %s".formatted(each.getKey(), each.getValue(), all));
      }
      packed |= each.getValue() << offset(each.getKey());
    }
    return packed;
  }

  /** Returns one of packed coordinates. */
  public int coordinate(Axis axis, int packed) {
    return packed >>> offset(axis) & (1 << bits(axis)) - 1;
  }

  /** Returns the number of a point; the first dimension is the fastest. */
  int number(int packed) {
    int number = 0;
    for (var each : all.reversed()) {
      number = number * each.extent + coordinate(each.axis, packed);
    }
    return number;
  }

  /** Returns the packed coordinates of the point with a number. */
  int packed(int number) {
    int packed = 0;
    int offset = 0;
    for (var each : all) {
      packed |= number % each.extent << offset;
      number /= each.extent;
      offset += each.bits();
    }
    return packed;
  }

  boolean contains(int packed) {
    return all.stream().allMatch(each -> coordinate(each.axis, packed) < each.extent);
  }

  /** Returns packed coordinates as text, such as {@code ELEMENT 1, LANE 4}. */
  String text(int packed) {
    return all.stream()
        .map(each -> each.axis + " " + coordinate(each.axis, packed))
        .collect(Collectors.joining(", "));
  }

  /** Returns the coordinates that are not 0 as text; {@code 0} if there is none. */
  String flips(int packed) {
    return all.stream()
        .filter(each -> coordinate(each.axis, packed) != 0)
        .map(each -> each.axis + " " + coordinate(each.axis, packed))
        .reduce((a, b) -> a + ", " + b)
        .orElse("0");
  }

  public List<Axis> axes() {
    return all.stream().map(Dimension::axis).toList();
  }

  Dimensions reordered(List<Axis> axes) {
    if (axes.size() != all.size()) {
      throw new IllegalArgumentException("%s does not order %s".formatted(axes, all));
    }
    return new Dimensions(axes.stream().map(this::get).toList());
  }

  Dimensions renamed(UnaryOperator<Axis> names) {
    return new Dimensions(
        all.stream().map(each -> new Dimension(names.apply(each.axis), each.extent)).toList());
  }

  Dimensions split(Axis axis, int extent, Axis upper) {
    int whole = get(axis).extent;
    if (Integer.bitCount(extent) != 1 || whole % extent != 0) {
      throw new IllegalArgumentException(
          "cannot split %s by %d; use a power of two that divides it".formatted(get(axis), extent));
    }
    var parts = new ArrayList<>(all);
    parts.set(index(axis), new Dimension(axis, extent));
    parts.add(index(axis) + 1, new Dimension(upper, whole / extent));
    return new Dimensions(parts);
  }

  @Override
  public String toString() {
    return all.toString();
  }
}
