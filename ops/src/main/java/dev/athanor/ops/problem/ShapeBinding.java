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
  private Shape leading = Shape.of();

  /** The input that first bound a name. */
  private record Origin(String input, ShapePattern pattern, Shape shape) {}

  /** Returns the extents by name; the product of the leading ones has the name {@code …}. */
  public Map<String, Long> values() {
    return Collections.unmodifiableMap(values);
  }

  public Shape leading() {
    return leading;
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

  void bindLeading(String input, ShapePattern pattern, Shape shape, Shape outer) {
    boolean isNew = !values.containsKey(ShapePattern.LEADING);
    check(isNew || leading.equals(outer), ShapePattern.LEADING, new Origin(input, pattern, shape));
    if (isNew) {
      leading = outer;
      values.put(ShapePattern.LEADING, elements(input, shape, outer));
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
    throw new OpException.ShapeMismatch(
        origin.input,
        "%s has shape %s and %s %s; they must be %s and %s"
            .formatted(
                first.input,
                first.shape,
                origin.input,
                origin.shape,
                first.pattern.text(),
                origin.pattern.text()));
  }
}
