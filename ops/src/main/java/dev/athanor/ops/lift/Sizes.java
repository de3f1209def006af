package dev.athanor.ops.lift;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.problem.ShapeBinding;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToLongFunction;

/**
 * The sizes of a call: the named extents of its inputs, the sizes that the description defines, and
 * the attributes.
 */
public final class Sizes {
  private final Map<String, Long> values;
  private final Attributes attributes;
  private final DType dtype;

  private Sizes(Map<String, Long> values, Attributes attributes, DType dtype) {
    this.values = values;
    this.attributes = attributes;
    this.dtype = dtype;
  }

  /**
   * Computes the defined sizes in order; each can use the previous ones.
   *
   * @param dtype of the kernel
   */
  static Sizes of(
      ShapeBinding shapes,
      Map<String, ToLongFunction<Sizes>> definitions,
      Attributes attributes,
      DType dtype) {
    var values = new LinkedHashMap<>(shapes.values());
    var sizes = new Sizes(values, attributes, dtype);
    definitions.forEach((name, size) -> values.put(name, size.applyAsLong(sizes)));
    return sizes;
  }

  /**
   * Returns a size.
   *
   * @param name a named extent, a defined size, or {@code …} for the product of the leading extents
   * @throws IllegalArgumentException if there is no size with that name
   */
  public long size(String name) {
    var value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException(
          "there is no size \"%s\"; sizes are %s"
              .formatted(name, String.join(", ", values.keySet())));
    }
    return value;
  }

  /** Returns the attributes. */
  public Attributes attributes() {
    return attributes;
  }

  /** Returns the dtype of the called kernel. */
  public DType dtype() {
    return dtype;
  }

  /**
   * Returns a size of a tensor or grid.
   *
   * @throws OpException.ShapeMismatch if it is less than {@code least}
   */
  long atLeast(long least, String name, String op) {
    long value = Objects.requireNonNull(values.get(name), name);
    if (value < least) {
      throw new OpException.ShapeMismatch(
          name,
          "%s needs a size %s of at least %d, got %d from %s"
              .formatted(op, name, least, value, withoutOthers(name)));
    }
    return value;
  }

  private String withoutOthers(String name) {
    var others = new LinkedHashMap<>(values);
    others.remove(name);
    return others.toString();
  }
}
