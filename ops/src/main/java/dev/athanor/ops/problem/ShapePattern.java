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
 * leading extents, or {@code []} for a scalar. Leading extents with a name, as in {@code […a, C]}
 * and {@code […b, C]}, are independent of others.
 *
 * @param text as shown in the description
 * @param leading an ellipsis, followed by the name if it has one; empty without leading extents
 * @param extents names and numbers, without the leading ellipsis
 */
public record ShapePattern(String text, String leading, List<String> extents) {

  /** Name of the leading extents, and of their product. */
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
    var leading = parts.isEmpty() || !isLeading(parts.getFirst()) ? "" : parts.getFirst();
    var extents = parts.subList(leading.isEmpty() ? 0 : 1, parts.size());
    if (!isBracketed || !extents.stream().allMatch(each -> isName(each) || isNumber(each))) {
      throw new IllegalArgumentException(
          "the shape \"%s\" of %s is invalid; write names or numbers, such as [R, C], [C, 3], […, C] or []"
              .formatted(text, tensor));
    }
    return new ShapePattern(inner, leading, extents);
  }

  private static boolean isLeading(String part) {
    return part.startsWith(LEADING)
        && (part.equals(LEADING) || isName(part.substring(LEADING.length())));
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
            leading.isEmpty() ? Stream.of() : Stream.of(leading),
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
    if (!fits(shape)) {
      throw mismatch(input, shape, to);
    }
    if (!leading.isEmpty()) {
      to.bindLeading(leading, input, this, shape);
    }
    for (int i = 0; i < extents.size(); i++) {
      var name = extents.get(i);
      long extent = shape.extent(i - extents.size());
      if (!isNumber(name)) {
        to.bind(name, input, this, shape, extent);
      } else if (Long.parseLong(name) != extent) {
        throw mismatch(input, shape, to);
      }
    }
  }

  /** Returns whether a shape has the number of dimensions of the pattern. */
  boolean fits(Shape shape) {
    int others = shape.rank() - extents.size();
    return leading.isEmpty() ? others == 0 : others >= 0;
  }

  /** Returns this pattern with a text that names a condition, such as {@code with transposeA}. */
  ShapePattern on(String condition) {
    return new ShapePattern(text + condition, leading, extents);
  }

  /** Returns the condition; empty if there is none. */
  String condition() {
    return text.substring(text.indexOf(']') + 1);
  }

  private OpException mismatch(String input, Shape shape, ShapeBinding bound) {
    boolean isKnown = leading.isEmpty() && bound.values().keySet().containsAll(names());
    return new OpException.ShapeMismatch(
        input,
        "input \"%s\" has shape %s; it must be %s%s"
            .formatted(
                input,
                shape,
                text,
                isKnown && !names().isEmpty() ? " = " + shape(bound, bound::extent) : ""));
  }

  /**
   * Returns the shape of an output.
   *
   * @param shapes the leading extents
   * @param size returns the extent with a name
   */
  public Shape shape(ShapeBinding shapes, ToLongFunction<String> size) {
    var all = new ArrayList<>(shapes.leading(leading).extents());
    for (var extent : extents) {
      all.add(isNumber(extent) ? Long.parseLong(extent) : size.applyAsLong(extent));
    }
    return new Shape(all);
  }
}
