package dev.athanor.ops.problem;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A shape with names for extents: {@code [R, C]}, {@code [C, 3]}, {@code […, C]} with any number of
 * leading extents, or {@code []} for a scalar.
 *
 * @param text as shown in the description
 * @param extents names and numbers, without the leading ellipsis
 */
public record ShapePattern(String text, boolean hasLeading, List<String> extents) {

  /** Name of the product of the leading extents. */
  public static final String LEADING = "…";

  public static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_]*");
  private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,8}");

  public ShapePattern {
    extents = List.copyOf(extents);
  }

  /**
   * Parses a pattern.
   *
   * @param tensor for the message
   * @throws IllegalArgumentException if the text is not a pattern
   */
  public static ShapePattern parse(String tensor, String text) {
    var inner = text.strip();
    boolean isBracketed = inner.startsWith("[") && inner.endsWith("]") && inner.length() > 1;
    var parts =
        isBracketed && inner.length() > 2
            ? Stream.of(inner.substring(1, inner.length() - 1).split(",", -1))
                .map(String::strip)
                .toList()
            : List.<String>of();
    boolean hasLeading = !parts.isEmpty() && parts.getFirst().equals(LEADING);
    var extents = parts.subList(hasLeading ? 1 : 0, parts.size());
    if (!isBracketed || !extents.stream().allMatch(each -> isName(each) || isNumber(each))) {
      throw new IllegalArgumentException(
          "the shape \"%s\" of %s is invalid; write names or numbers, such as [R, C], [C, 3], […, C] or []"
              .formatted(text, tensor));
    }
    return new ShapePattern(inner, hasLeading, extents);
  }

  private static boolean isName(String extent) {
    return NAME.matcher(extent).matches();
  }

  private static boolean isNumber(String extent) {
    return NUMBER.matcher(extent).matches();
  }

  /** Returns the names of the extents, and {@link #LEADING} if there are leading ones. */
  public List<String> names() {
    return Stream.concat(
            hasLeading ? Stream.of(LEADING) : Stream.of(),
            extents.stream().filter(ShapePattern::isName))
        .distinct()
        .toList();
  }

  /**
   * Binds the names to the extents of an input.
   *
   * @throws OpException.ShapeMismatch if the shape does not match
   */
  public void bind(String input, TensorType type, ShapeBinding to) {
    var shape = type.shape();
    int leading = shape.rank() - extents.size();
    if (hasLeading ? leading < 0 : leading != 0) {
      throw mismatch(input, shape);
    }
    if (hasLeading) {
      to.bindLeading(input, this, shape, shape.leading(extents.size()));
    }
    for (int i = 0; i < extents.size(); i++) {
      var name = extents.get(i);
      long extent = shape.extent(leading + i);
      if (!isNumber(name)) {
        to.bind(name, input, this, shape, extent);
      } else if (Long.parseLong(name) != extent) {
        throw mismatch(input, shape);
      }
    }
  }

  private OpException mismatch(String input, Shape shape) {
    return new OpException.ShapeMismatch(
        input, "input \"%s\" has shape %s; it must be %s".formatted(input, shape, text));
  }

  /**
   * Returns the shape of an output.
   *
   * @param leading the leading extents
   * @param size returns the extent with a name
   */
  public Shape shape(Shape leading, ToLongFunction<String> size) {
    var all = new ArrayList<Long>(hasLeading ? leading.extents() : List.of());
    for (var extent : extents) {
      all.add(isNumber(extent) ? Long.parseLong(extent) : size.applyAsLong(extent));
    }
    return new Shape(all);
  }
}
