package dev.athanor.ops.convolution;

import dev.athanor.ops.OpException;

/**
 * The positions in the input that the outputs of a resize take along one spatial dimension. Output
 * {@code o} is at {@code (o·step + start) / unit}, an exact fraction, so that no rounding error
 * selects another element.
 *
 * @param in extent of the input
 * @param out extent of the output
 * @param scale elements of the output per element of the input
 * @param unit at least 1
 */
record SamplePositions(long in, long out, Fraction scale, long step, long start, long unit) {

  private static final long MOST = Integer.MAX_VALUE - 1024;
  private static final double MOST_NUMERATOR = 0x1p62;

  /** The coordinate transformations of ONNX's Resize. */
  enum Coordinates {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC
  }

  /** The rounding of positions to the nearest element. */
  enum Rounding {
    ROUND_PREFER_FLOOR,
    ROUND_PREFER_CEIL,
    FLOOR,
    CEIL
  }

  /**
   * Returns the positions of a coordinate transformation.
   *
   * @param dimension its index, for messages
   * @throws OpException.TooLarge if twice a numerator exceeds 2^62, or twice the denominator 2^31 −
   *     1025
   */
  static SamplePositions of(
      Coordinates coordinates, int dimension, long in, long out, Fraction scale) {
    long p = scale.numerator();
    long q = scale.denominator();
    if (in * (double) Math.max(p, q) > MOST_NUMERATOR) {
      throw tooLarge(dimension, in, out);
    }
    boolean single =
        switch (coordinates) {
          case ALIGN_CORNERS -> in * p == q;
          case PYTORCH_HALF_PIXEL -> out == 1;
          default -> false;
        };
    var positions =
        single
            ? new SamplePositions(in, out, scale, 0, 0, 1)
            : switch (coordinates) {
              case HALF_PIXEL, PYTORCH_HALF_PIXEL ->
                  new SamplePositions(in, out, scale, 2 * q, q - p, 2 * p);
              case HALF_PIXEL_SYMMETRIC ->
                  new SamplePositions(in, out, scale, 2 * q, (in - 1) * p + (1 - out) * q, 2 * p);
              case ALIGN_CORNERS ->
                  new SamplePositions(in, out, scale, (in - 1) * q, 0, in * p - q);
              case ASYMMETRIC -> new SamplePositions(in, out, scale, q, 0, p);
            };
    var reduced = positions.reduced();
    // rounding doubles all three
    double numerator = out * (double) reduced.step + Math.abs(reduced.start);
    if (2 * numerator > MOST_NUMERATOR || 2 * reduced.unit > MOST) {
      throw tooLarge(dimension, in, out);
    }
    return reduced;
  }

  private static OpException tooLarge(int dimension, long in, long out) {
    return new OpException.TooLarge(
        "x",
        "resizing spatial dimension %d from %d to %d elements requires positions in fractions of more than 2^30; choose extents with a common divisor"
            .formatted(dimension, in, out));
  }

  private SamplePositions reduced() {
    long divisor = Fraction.divisor(Fraction.divisor(step, start), unit);
    return new SamplePositions(in, out, scale, step / divisor, start / divisor, unit / divisor);
  }

  /** Returns positions whose floors are these, rounded. */
  SamplePositions rounded(Rounding rounding) {
    return switch (rounding) {
      case FLOOR -> this;
      case CEIL -> with(1, unit - 1);
      case ROUND_PREFER_CEIL -> with(2, unit).reduced();
      case ROUND_PREFER_FLOOR -> with(2, unit - 1).reduced();
    };
  }

  private SamplePositions with(int factor, long more) {
    return new SamplePositions(in, out, scale, factor * step, factor * start + more, factor * unit);
  }

  /** Returns the numerator of the position of an output. */
  long numerator(long output) {
    return output * step + start;
  }

  /** Returns the whole part of the start. */
  long shift() {
    return Math.floorDiv(start, unit);
  }

  /** Returns the rest of the start, in units. */
  long rest() {
    return Math.floorMod(start, unit);
  }

  /** Returns whether numerators require 64 bits. */
  boolean isWide() {
    return (out - 1) * step + rest() > MOST;
  }

  /** Returns the window of the taps, for the extents. */
  Window window(long taps) {
    return new Window(in, taps, 1, 1, 0, 0, out);
  }
}
