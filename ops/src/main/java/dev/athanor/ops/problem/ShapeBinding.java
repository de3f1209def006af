package dev.athanor.ops.problem;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** The extents of a call by their names in shapes. */
public final class ShapeBinding {
  private final Map<String, Long> values = new LinkedHashMap<>();
  private final Map<String, Origin> origins = new HashMap<>();
  private final Map<String, Shape> leading = new HashMap<>();

  /** The input that first bound a name. */
  private record Origin(String input, ShapePattern pattern, Shape shape) {

    /** Returns the input and its shape, such as {@code b [17, 31] with transposeB}. */
    String text() {
      return input + " " + shape + pattern.condition();
    }

    /** Returns the extents with a name, such as {@code K = 31}. */
    String extents(String name) {
      return name.startsWith(ShapePattern.LEADING)
          ? "leading dimensions " + shape.leading(pattern.extents().size())
          : name
              + " = "
              + shape.extent(pattern.extents().lastIndexOf(name) - pattern.extents().size());
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
    check(known == null || known == extent, name, new Origin(input, pattern, shape));
  }

  void bindLeading(String name, String input, ShapePattern pattern, Shape shape) {
    var outer = shape.leading(pattern.extents().size());
    var known = leading.putIfAbsent(name, outer);
    check(known == null || known.equals(outer), name, new Origin(input, pattern, shape));
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
