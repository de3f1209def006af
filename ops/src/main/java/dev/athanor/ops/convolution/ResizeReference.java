package dev.athanor.ops.convolution;

import dev.athanor.ops.convolution.Resampling.Filter;
import dev.athanor.ops.convolution.SamplePositions.Rounding;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.List;

/**
 * The reference of a resize in float64.
 *
 * @param coefficient of cubic weights
 * @param from the pixels of x
 * @param to the pixels of y
 */
record ResizeReference(
    Resampling function,
    List<SamplePositions> positions,
    Rounding rounding,
    double coefficient,
    TensorReader x,
    Pixels from,
    Pixels to) {

  /** An element of x along one dimension, and its weight. */
  private record Tap(long at, double weight) {}

  /** Returns an element of y. */
  double value(long index) {
    var place = to.place(to.pixel(index));
    var taps = new ArrayList<List<Tap>>();
    double weights = 1;
    for (int i = 0; i < place.length; i++) {
      var along = taps(positions.get(i), place[i]);
      taps.add(along);
      weights *= along.stream().mapToDouble(Tap::weight).sum();
    }
    double sum = sum(index, taps, new long[place.length], 0, 1);
    return function.normalizes() ? sum / weights : sum;
  }

  private double sum(long index, List<List<Tap>> taps, long[] at, int i, double weight) {
    if (i == at.length) {
      return weight * x.get(from.index(to.image(index), to.channel(index), from.pixel(at)));
    }
    double sum = 0;
    for (var tap : taps.get(i)) {
      at[i] = Math.clamp(tap.at, 0, from.extents().get(i) - 1);
      sum += sum(index, taps, at, i + 1, weight * tap.weight);
    }
    return sum;
  }

  private List<Tap> taps(SamplePositions positions, long output) {
    long floor = Math.floorDiv(positions.numerator(output), positions.unit());
    long rest = Math.floorMod(positions.numerator(output), positions.unit());
    if (function.filter() == Filter.NEAREST) {
      boolean up =
          switch (rounding) {
            case FLOOR -> false;
            case CEIL -> rest > 0;
            case ROUND_PREFER_FLOOR -> 2 * rest > positions.unit();
            case ROUND_PREFER_CEIL -> 2 * rest >= positions.unit();
          };
      return List.of(new Tap(up ? floor + 1 : floor, 1));
    }
    var taps = new ArrayList<Tap>();
    for (long i = 0; i < function.taps(positions); i++) {
      long relative = function.first(positions) + i;
      double distance = relative - rest / (double) positions.unit();
      double weight = function.filter().weight(distance * function.stretch(positions), coefficient);
      long at = floor + relative;
      boolean counts = !function.excludeOutside() || (at >= 0 && at < positions.in());
      taps.add(new Tap(at, counts ? weight : 0));
    }
    return taps;
  }
}
