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
 * The elements of an output that are not as they should be.
 *
 * @param first the index of the first, row-major
 * @param count how many there are
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

  /** Returns the elements that are still poison where that is not what the reference says. */
  static Differences unwritten(HostTensor result, double[] expected) {
    int bytes = result.type().dtype().bytes();
    return of(
        expected.length,
        i -> {
          for (int b = 0; b < bytes; b++) {
            if (result.data().get(ValueLayout.JAVA_BYTE, (long) i * bytes + b) != Guarded.POISON) {
              return false;
            }
          }
          return Double.compare(result.get(i), expected[i]) != 0;
        });
  }

  /**
   * Returns the elements that take more than their share of the tolerance. Where the error as a whole is
   * beyond the limit there is at least one: by the relative metric an element's share is the limit
   * times the root mean square of the reference, and not all squares are below their mean.
   */
  static Differences wrong(double[] result, double[] expected, Tolerance tolerance) {
    double squares = 0;
    for (double each : expected) {
      squares += Double.isFinite(each) ? each * each : 0;
    }
    double size = Math.sqrt(squares / expected.length);
    // so that rounding here hides no element where the error is just beyond the limit
    double justBelow = 1 - 1e-9;
    return of(
        expected.length,
        i -> {
          if (Double.compare(result[i], expected[i]) == 0) {
            return false;
          }
          double allowed = justBelow * tolerance.allowed(expected[i], size);
          // a NaN is in no order
          return !(Math.abs(result[i] - expected[i]) <= allowed);
        });
  }

  /** For instance {@code element 17 ([1, 3]) of c was not written; so it is with 2 of 64}. */
  String describe(String output, HostTensor tensor, double[] expected, String what) {
    return "element %d (%s) of %s %s; so it is with %d of %d"
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
