package dev.athanor.ops.problem;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A shape with names for extents: {@code [R, C]}, {@code [C, 3]}, {@code […, C]} with any number of
 * leading extents, or {@code []} for a scalar. Leading extents with a name, as in {@code […a, C]}
 * and {@code […b, C]}, are independent of others.
 *
 * <p>Descriptions of built-in ops also have quotients. {@code K/8} requires K to be a multiple of
 * 8. {@code K/groupSize}, with the name of an integer attribute, is rounded up.
 *
 * @param text as shown in the description
 * @param leading an ellipsis, followed by the name if it has one; empty without leading extents
 * @param extents without the leading ellipsis
 */
public record ShapePattern(String text, String leading, List<Extent> extents) {

  /** Name of the leading extents, and of their product. */
  public static final String LEADING = "…";

  public static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_]*");
  private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,8}");
  private static final Pattern QUOTIENT = Pattern.compile("(%s)/(\\w+)".formatted(NAME));

  public ShapePattern {
    extents = List.copyOf(extents);
  }

  /**
   * An extent.
   *
   * @param name a name or a number
   * @param divisor a number, or the name of an attribute; 1 if the extent is not a quotient
   */
  public record Extent(String name, String divisor) {
    static Extent of(String text) {
      var quotient = QUOTIENT.matcher(text);
      return quotient.matches()
          ? new Extent(quotient.group(1), quotient.group(2))
          : new Extent(text, "1");
    }

    /** Returns whether it is a number. */
    public boolean isNumber() {
      return NUMBER.matcher(name).matches();
    }

    private boolean isValid() {
      return isNumber() || NAME.matcher(name).matches();
    }

    /** Returns whether the divisor is an attribute. */
    private boolean isGrouped() {
      return !NUMBER.matcher(divisor).matches();
    }

    /** Returns the extent for a value of the name. */
    private long of(long value, ShapeBinding bound) {
      long by = isGrouped() ? bound.groupSize(divisor, value) : Long.parseLong(divisor);
      return Math.ceilDiv(value, by);
    }
  }

  /**
   * Parses a pattern.
   *
   * @param tensor for the message
   * @throws IllegalArgumentException if the text is not a pattern
   */
  public static ShapePattern parse(String tensor, String text) {
    var pattern = parseWithQuotients(tensor, text);
    if (text.contains("/")) {
      throw invalid(tensor, text);
    }
    return pattern;
  }

  static ShapePattern parseWithQuotients(String tensor, String text) {
    var inner = text.strip();
    boolean isBracketed = inner.startsWith("[") && inner.endsWith("]") && inner.length() > 1;
    var parts =
        isBracketed && inner.length() > 2
            ? Stream.of(inner.substring(1, inner.length() - 1).split(",", -1))
                .map(String::strip)
                .toList()
            : List.<String>of();
    var leading = parts.isEmpty() || !isLeading(parts.getFirst()) ? "" : parts.getFirst();
    var extents =
        parts.subList(leading.isEmpty() ? 0 : 1, parts.size()).stream().map(Extent::of).toList();
    if (!isBracketed || !extents.stream().allMatch(Extent::isValid)) {
      throw invalid(tensor, text);
    }
    return new ShapePattern(inner, leading, extents);
  }

  private static IllegalArgumentException invalid(String tensor, String text) {
    return new IllegalArgumentException(
        "the shape \"%s\" of %s is invalid; write names or numbers, such as [R, C], [C, 3], […, C] or []"
            .formatted(text, tensor));
  }

  private static boolean isLeading(String part) {
    return part.startsWith(LEADING)
        && (part.equals(LEADING) || NAME.matcher(part.substring(LEADING.length())).matches());
  }

  /** Returns the names of the extents, and {@link #LEADING} if there are leading ones. */
  public List<String> names() {
    return Stream.concat(
            leading.isEmpty() ? Stream.of() : Stream.of(leading),
            extents.stream().filter(each -> !each.isNumber()).map(Extent::name))
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
      var each = extents.get(i);
      long extent = shape.extent(i - extents.size());
      if (each.isNumber() || each.isGrouped()) {
        if (extent != extent(each, to::extent, to)) {
          throw mismatch(input, shape, to);
        }
      } else {
        long divisor = Long.parseLong(each.divisor);
        to.requireMultiple(each.name, divisor, input, this);
        to.bind(each.name, input, this, shape, extent * divisor);
      }
    }
  }

  private static long extent(Extent each, ToLongFunction<String> size, ShapeBinding bound) {
    return each.isNumber()
        ? Long.parseLong(each.name)
        : each.of(size.applyAsLong(each.name), bound);
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
    int end = text.length() - condition().length();
    return new OpException.ShapeMismatch(
        input,
        "input \"%s\" has shape %s; it must be %s%s%s%s"
            .formatted(
                input,
                shape,
                text.substring(0, end),
                isKnown && !names().isEmpty() ? " = " + shape(bound, bound::extent) : "",
                condition(),
                isKnown ? groups(bound) : ""));
  }

  /** Returns the values of quotients by attributes: {@code , where K = 64 and groupSize = 32}. */
  private String groups(ShapeBinding bound) {
    return extents.stream()
        .filter(Extent::isGrouped)
        .map(each ->
            ", where %s = %d and %s = %d"
                .formatted(
                    each.name,
                    bound.extent(each.name),
                    each.divisor,
                    bound.groupSize(each.divisor, bound.extent(each.name))))
        .collect(Collectors.joining());
  }

  /**
   * Returns the shape of an output.
   *
   * @param shapes the leading extents
   * @param size returns the extent with a name
   */
  public Shape shape(ShapeBinding shapes, ToLongFunction<String> size) {
    var all = new ArrayList<>(shapes.leading(leading).extents());
    extents.forEach(each -> all.add(extent(each, size, shapes)));
    return new Shape(all);
  }
}
