package dev.athanor.ops.convolution;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.problem.Checks;
import java.util.Collections;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * A window that slides along one spatial dimension. Tap {@code t} of output {@code o} reads the
 * input at {@code o·stride − before + t·dilation}.
 *
 * @param in extent of the input
 * @param kernel number of taps
 * @param before elements of padding before the input
 * @param after elements of padding after the input
 * @param out extent of the output
 */
record Window(long in, long kernel, long stride, long dilation, long before, long after, long out) {

  private static final long MOST = Integer.MAX_VALUE - 1024;

  /** The attributes of windows. */
  static final List<Attribute> ATTRIBUTES =
      List.of(
          attribute("strides", "distance between windows; 1 if omitted", 1),
          attribute("dilations", "distance between the taps of a window; 1 if omitted", 1),
          attribute("before", "elements of padding before x; 0 if omitted", 0),
          attribute("after", "elements of padding after x; 0 if omitted", 0));

  /** Returns an attribute with one value per spatial dimension. */
  static Attribute attribute(String name, String meaning, int least) {
    return Attribute.integers(name, "for each spatial dimension, the " + meaning)
        .from(least, Double.POSITIVE_INFINITY);
  }

  /**
   * Returns the values of an attribute, one per spatial dimension.
   *
   * @param otherwise the values if it is omitted
   */
  static List<Long> values(Attributes attributes, String name, int rank, long otherwise) {
    if (!attributes.has(name)) {
      return Collections.nCopies(rank, otherwise);
    }
    Checks.requireLength(attributes, name, rank, "spatial dimension of x");
    var values = attributes.integers(name);
    if (values.stream().anyMatch(value -> value > MOST)) {
      throw new OpException.InvalidAttribute(
          name,
          "attribute \"%s\" is %s; each value must be at most 2^31 - 1025".formatted(name, values));
    }
    return values;
  }

  /** Returns the position in the input of a tap of an output; it may be in the padding. */
  long at(long output, long tap) {
    return output * stride - before + tap * dilation;
  }

  /** Returns the number of elements from the first to the last tap. */
  long span() {
    return dilation * (kernel - 1) + 1;
  }

  /** Returns the extent of the input with its padding. */
  long padded() {
    return before + in + after;
  }

  /**
   * Returns this window with the extent of the output, one element per window.
   *
   * @param dimension its index, for messages
   * @param up whether the last window may end after the padding, if it begins before
   */
  Window reduced(int dimension, boolean up) {
    requirePositions(dimension, padded());
    if (padded() < span()) {
      throw new OpException.ShapeMismatch(
          "x",
          "a window spans %d elements, but spatial dimension %d of x has %d with its padding; give more padding or a smaller window"
              .formatted(span(), dimension, padded()));
    }
    long rest = padded() - span();
    long extent = (up ? Math.ceilDiv(rest, stride) : rest / stride) + 1;
    if (up && (extent - 1) * stride >= before + in) {
      extent--;
    }
    return with(extent);
  }

  /**
   * Returns this window with the extent of the output of a transposed convolution, which contains
   * all taps of all elements of the input, except those in the padding.
   *
   * @param dimension its index, for messages
   * @param more elements to add to the extent
   */
  Window enlarged(int dimension, long more) {
    long extent = (in - 1) * stride + span() + more - before - after;
    requirePositions(dimension, extent + before + span());
    if (extent < 1) {
      throw new OpException.ShapeMismatch(
          "x",
          "spatial dimension %d of y would have %d elements; give less padding or a larger window"
              .formatted(dimension, extent));
    }
    return with(extent);
  }

  private void requirePositions(int dimension, long positions) {
    if (positions > MOST || span() > MOST) {
      throw new OpException.TooLarge(
          "x",
          "a window along spatial dimension %d would have positions up to %d; the maximum is 2^31 - 1025"
              .formatted(dimension, Math.max(positions, span())));
    }
  }

  private Window with(long extent) {
    return new Window(in, kernel, stride, dilation, before, after, extent);
  }

  /** Returns the product of an extent of all windows. */
  static long product(List<Window> windows, ToLongFunction<Window> extent) {
    return windows.stream().mapToLong(extent).reduce(1, Math::multiplyExact);
  }
}
