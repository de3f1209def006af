package dev.athanor.ops.problem;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToLongFunction;

/** The extents of a call by their names in shapes. */
public final class ShapeBinding {
  private final Map<String, Long> values = new LinkedHashMap<>();
  private final Map<String, Origin> origins = new HashMap<>();
  private final Map<String, Shape> leading = new HashMap<>();
  private final ToLongFunction<String> attribute;

  /** Creates an empty binding for shapes without quotients by attributes. */
  public ShapeBinding() {
    this(name -> {
      throw new IllegalArgumentException("unknown attribute: " + name);
    });
  }

  /**
   * Creates an empty binding.
   *
   * @param attribute returns the value of an attribute
   */
  ShapeBinding(ToLongFunction<String> attribute) {
    this.attribute = attribute;
  }

  /** Returns the number of elements per group along an extent; an attribute below 1 means all. */
  long groupSize(String name, long extent) {
    long size = attribute.applyAsLong(name);
    return size < 1 ? Math.max(1, extent) : size;
  }

  /**
   * The input that first bound a name.
   *
   * @param extent the value of the name
   */
  private record Origin(String input, ShapePattern pattern, Shape shape, long extent) {

    /** Returns the input and its shape, such as {@code b [17, 31] with transposeB}. */
    String text() {
      return input + " " + shape + pattern.condition();
    }

    /** Returns the extents with a name, such as {@code K = 31}. */
    String extents(String name) {
      return name.startsWith(ShapePattern.LEADING)
          ? "leading dimensions " + shape.leading(pattern.extents().size())
          : name + " = " + extent;
    }
  }

  /** Returns the extents by name; the product of the leading ones has the name {@code …}. */
  public Map<String, Long> values() {
    return Collections.unmodifiableMap(values);
  }

  /** Returns the extent with a name. */
  long extent(String name) {
    return Objects.requireNonNull(values.get(name), name);
  }

  /** Returns the leading extents with a name; none if no input has them. */
  public Shape leading(String name) {
    return leading.getOrDefault(name, Shape.of());
  }

  /**
   * Binds a name.
   *
   * @throws OpException.ShapeMismatch if another input has another extent there
   */
  void bind(String name, String input, ShapePattern pattern, Shape shape, long extent) {
    var known = values.putIfAbsent(name, extent);
    check(known == null || known == extent, name, new Origin(input, pattern, shape, extent));
  }

  /**
   * Checks that a name, if bound, has a multiple of a divisor.
   *
   * @param pattern the shape of the input that has the quotient
   */
  void requireMultiple(String name, long divisor, String input, ShapePattern pattern) {
    var known = values.get(name);
    if (known != null && known % divisor != 0) {
      var first = Objects.requireNonNull(origins.get(name));
      throw new OpException.ShapeMismatch(
          input,
          "%s has %s, but %s is %s, so %s must be a multiple of %d"
              .formatted(first.text(), first.extents(name), input, pattern.text(), name, divisor));
    }
  }

  void bindLeading(String name, String input, ShapePattern pattern, Shape shape) {
    var outer = shape.leading(pattern.extents().size());
    var known = leading.putIfAbsent(name, outer);
    check(known == null || known.equals(outer), name, new Origin(input, pattern, shape, 0));
    if (known == null) {
      values.put(name, elements(input, shape, outer));
    }
  }

  private static long elements(String input, Shape shape, Shape outer) {
    try {
      return outer.elements();
    } catch (ArithmeticException e) {
      throw new OpException.TooLarge(
          input, "input \"%s\" has shape %s, more than 2^63 elements".formatted(input, shape));
    }
  }

  private void check(boolean agrees, String name, Origin origin) {
    var first = Objects.requireNonNullElse(origins.putIfAbsent(name, origin), origin);
    if (agrees) {
      return;
    }
    if (first.input.equals(origin.input)) {
      throw new OpException.ShapeMismatch(
          origin.input,
          "input \"%s\" has shape %s; it must be %s"
              .formatted(origin.input, origin.shape, origin.pattern.text()));
    }
    if (first.pattern.equals(origin.pattern)) {
      throw new OpException.ShapeMismatch(
          origin.input,
          "%s has shape %s but %s has %s; they must be the same"
              .formatted(origin.input, origin.shape, first.input, first.shape));
    }
    throw new OpException.ShapeMismatch(
        origin.input,
        "%s has %s but %s has %s; they must be equal"
            .formatted(origin.text(), origin.extents(name), first.text(), first.extents(name)));
  }
}
