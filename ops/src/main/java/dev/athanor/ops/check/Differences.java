package dev.athanor.ops.check;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Tolerance;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The incorrect elements of an output.
 *
 * @param first the row-major index of the first one
 * @param count their number
 */
record Differences(int first, int count) {

  private static Differences of(int elements, IntPredicate differs) {
    int first = -1;
    int count = 0;
    for (int i = 0; i < elements; i++) {
      if (differs.test(i)) {
        first = count++ == 0 ? i : first;
      }
    }
    return new Differences(first, count);
  }

  /**
   * Returns the elements that still contain poison, as does their whole block, and differ from the
   * reference.
   */
  static Differences unwritten(HostTensor result, double[] expected) {
    var dtype = result.type().dtype();
    int bytes = dtype.bytes();
    return of(
        expected.length,
        i -> {
          long start = (long) i / dtype.blockElements() * bytes;
          for (int b = 0; b < bytes; b++) {
            if (result.data().get(ValueLayout.JAVA_BYTE, start + b) != Guarded.POISON) {
              return false;
            }
          }
          return Double.compare(result.get(i), expected[i]) != 0;
        });
  }

  /**
   * Returns the elements that exceed their share of the tolerance. If the total error exceeds the
   * limit, at least one element does: in the relative metric, the share is the limit times the root
   * mean square of the reference, and not all squares are below their mean.
   */
  static Differences wrong(double[] result, double[] expected, Tolerance tolerance) {
    double squares = 0;
    for (double each : expected) {
      squares += Double.isFinite(each) ? each * each : 0;
    }
    double size = Math.sqrt(squares / expected.length);
    // so that rounding here does not hide an element if the error barely exceeds the limit
    double justBelow = 1 - 1e-9;
    return of(
        expected.length,
        i -> {
          if (Double.compare(result[i], expected[i]) == 0) {
            return false;
          }
          double allowed = justBelow * tolerance.allowed(expected[i], size);
          // also true for NaN
          return !(Math.abs(result[i] - expected[i]) <= allowed);
        });
  }

  /**
   * Returns text such as {@code element 17 ([1, 3]) of c was not written; 2 of 64 elements fail}.
   */
  String describe(String output, HostTensor tensor, double[] expected, String what) {
    return "element %d (%s) of %s %s; %d of %d elements fail"
        .formatted(
            first, position(tensor.type().shape(), first), output, what, count, expected.length);
  }

  private static List<Long> position(Shape shape, long index) {
    var position = new ArrayList<Long>();
    for (var extent : shape.extents().reversed()) {
      position.add(index % extent);
      index /= extent;
    }
    Collections.reverse(position);
    return position;
  }
}
