package dev.athanor.ops.convolution;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Interpolates each channel at the positions of {@link SamplePositions}. The parameters of spatial
 * dimension {@code i} are {@code step, rest, unit} and {@code shift}, followed by {@code i}; those
 * of an interpolation also the reciprocal {@code part} of the unit, and with antialiasing {@code
 * first}, the index of the first tap relative to the position, and {@code stretch}, the factor of
 * distances. The last parameter of a cubic filter is {@code coefficient}.
 *
 * @param type of x and y
 * @param antialias whether a filter that shrinks x is as wide as the distance between outputs
 * @param excludeOutside whether elements outside of x have no weight
 * @param wide whether the numerators of positions have 64 bits
 */
record Resampling(Filter filter, Type type, boolean antialias, boolean excludeOutside, boolean wide)
    implements WindowFunction {

  /** The weights of the elements around a position. */
  enum Filter {
    NEAREST(0),
    LINEAR(1),
    CUBIC(2);

    private final int reach;

    Filter(int reach) {
      this.reach = reach;
    }

    private Real weight(Real distance, Real coefficient) {
      var one = distance.constant(1);
      if (this == LINEAR) {
        return one.minus(distance).max(distance.constant(0));
      }
      var near =
          distance
              .fma(coefficient.plus(2), coefficient.plus(3).negate())
              .times(distance)
              .fma(distance, one);
      var far =
          distance
              .minus(5)
              .fma(distance, distance.constant(8))
              .fma(distance, distance.constant(-4))
              .times(coefficient);
      return near.where(distance.le(one), far.where(distance.lt(2), distance.constant(0)));
    }

    /** Returns the weight of an element in float64. */
    double weight(double distance, double a) {
      double d = Math.abs(distance);
      if (this == LINEAR) {
        return Math.max(0, 1 - d);
      }
      return d <= 1
          ? (a + 2) * d * d * d - (a + 3) * d * d + 1
          : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
    }
  }

  @Override
  public String name() {
    return "resize_%s_%s%s%s%s"
        .formatted(
            Choices.text(filter),
            type.word(),
            antialias ? "_antialias" : "",
            excludeOutside ? "_inside" : "",
            wide ? "_wide" : "");
  }

  /** Returns the function with numerators of 64 or 32 bits. */
  Resampling withWide(boolean wanted) {
    return new Resampling(filter, type, antialias, excludeOutside, wanted);
  }

  private Type sum() {
    return type == Type.F64 ? Type.F64 : Type.F32;
  }

  private boolean interpolates() {
    return filter != Filter.NEAREST;
  }

  /** Returns whether the weights must be divided by their sum. */
  boolean normalizes() {
    return antialias || excludeOutside;
  }

  /** Returns the number of taps along a dimension. */
  long taps(SamplePositions positions) {
    return interpolates() ? 2 - 2 * first(positions) : 1;
  }

  /** Returns the index of the first tap, relative to the element before the position. */
  long first(SamplePositions positions) {
    var scale = positions.scale();
    return antialias && scale.numerator() < scale.denominator()
        ? Math.floorDiv(-filter.reach * scale.denominator(), scale.numerator()) + 1
        : interpolates() ? 1 - filter.reach : 0;
  }

  /** Returns the factor of distances from a position. */
  double stretch(SamplePositions positions) {
    return antialias ? Math.min(1, positions.scale().value()) : 1;
  }

  /** Returns the arguments of the function. */
  Arguments arguments(List<SamplePositions> dimensions, double coefficient) {
    var all = Arguments.NONE;
    for (int i = 0; i < dimensions.size(); i++) {
      var positions = dimensions.get(i);
      all = integer(all, "step" + i, positions.step());
      all = integer(all, "rest" + i, positions.rest());
      all = integer(all, "unit" + i, positions.unit());
      all = all.with("shift" + i, (int) positions.shift());
      if (interpolates()) {
        all = real(all, "part" + i, 1.0 / positions.unit());
      }
      if (antialias) {
        all = all.with("first" + i, (int) first(positions));
        all = real(all, "stretch" + i, stretch(positions));
      }
    }
    return filter == Filter.CUBIC ? real(all, "coefficient", coefficient) : all;
  }

  private Arguments integer(Arguments all, String name, long value) {
    return wide ? all.with(name, value) : all.with(name, (int) value);
  }

  private Arguments real(Arguments all, String name, double value) {
    return type == Type.F64 ? all.with(name, value) : all.with(name, (float) value);
  }

  /**
   * The position of an output.
   *
   * @param floor the element before it
   * @param rest distance from that element in units
   */
  private record Position(Int floor, Int rest) {}

  /** The position of an output, as a function of its coordinate. */
  @FunctionalInterface
  private interface Positions {
    Position of(Int output);
  }

  private Positions positions(KernelBuilder k, int i) {
    if (wide) {
      var step = k.wide("step" + i);
      var rest = k.wide("rest" + i);
      var unit = k.wide("unit" + i);
      var shift = k.integer("shift" + i);
      return output -> {
        var numerator = step.times(output).plus(rest);
        var floor = numerator.div(unit).narrow();
        return new Position(floor.plus(shift), numerator.rem(unit).narrow());
      };
    }
    var step = k.integer("step" + i);
    var rest = k.integer("rest" + i);
    var unit = k.integer("unit" + i);
    var shift = k.integer("shift" + i);
    return output -> {
      var numerator = output.times(step).plus(rest);
      var floor = numerator.div(unit);
      return new Position(floor.plus(shift), numerator.minus(floor.times(unit)));
    };
  }

  /**
   * The declared parameters of a dimension.
   *
   * @param part the reciprocal of the unit
   * @param first index of the first tap, relative to the element before the position
   */
  private record Dimension(Positions positions, Real part, Int first, Real stretch) {}

  private Dimension dimension(KernelBuilder k, int i) {
    var positions = positions(k, i);
    var one = k.real(sum(), 1);
    return new Dimension(
        positions,
        interpolates() ? k.real("part" + i, sum()) : one,
        antialias ? k.integer("first" + i) : k.integer(1 - filter.reach),
        antialias ? k.real("stretch" + i, sum()) : one);
  }

  @Override
  public OfElement declare(KernelBuilder k, int rank) {
    var dimensions = IntStream.range(0, rank).mapToObj(i -> dimension(k, i)).toList();
    if (!interpolates()) {
      return element -> nearest(k, dimensions, element);
    }
    var coefficient = filter == Filter.CUBIC ? k.real("coefficient", sum()) : k.real(sum(), 0);
    return element -> new Interpolation(k, dimensions, coefficient, element).result();
  }

  private static Value load(KernelBuilder k, Element element, Int pixel) {
    return element.x().plus(pixel.times(element.pixelStride()).wide()).load(k.integer(0));
  }

  private static Int inside(KernelBuilder k, Int at, Int extent) {
    return at.max(k.integer(0)).min(extent.plus(-1));
  }

  private static Value nearest(KernelBuilder k, List<Dimension> dimensions, Element element) {
    var pixel = k.integer(0);
    for (int i = 0; i < dimensions.size(); i++) {
      var extent = element.windows().dimensions().get(i).in();
      var at = dimensions.get(i).positions.of(element.place().get(i)).floor;
      pixel = pixel.times(extent).plus(inside(k, at, extent));
    }
    return load(k, element, pixel);
  }

  /** The weighted sum of the elements around the position of an element of y. */
  private final class Interpolation {
    private final KernelBuilder k;
    private final List<Dimension> dimensions;
    private final Real coefficient;
    private final Element element;
    private final Real.Variable sum;
    private final Real.Variable weights;

    Interpolation(KernelBuilder k, List<Dimension> dimensions, Real coefficient, Element element) {
      this.k = k;
      this.dimensions = dimensions;
      this.coefficient = coefficient;
      this.element = element;
      sum = k.variable(k.real(sum(), 0));
      weights = k.variable(k.real(sum(), 0));
    }

    Value result() {
      taps(0, k.integer(0), k.real(sum(), 1));
      return (normalizes() ? sum.over(weights) : sum).to(type);
    }

    /** Emits the taps of a dimension and of those within it; in loops if the scale affects them. */
    private void taps(int i, Int pixel, Real outer) {
      if (i == dimensions.size()) {
        sum.addProduct(outer, load(k, element, pixel).widen());
        if (normalizes()) {
          weights.set(weights.plus(outer));
        }
        return;
      }
      var dimension = dimensions.get(i);
      var window = element.windows().dimensions().get(i);
      var position = dimension.positions.of(element.place().get(i));
      var fraction = position.rest.real(sum()).times(dimension.part);
      Consumer<Int> each =
          tap -> {
            var relative = tap.plus(dimension.first);
            var distance = relative.real(sum()).minus(fraction).abs();
            var weight =
                filter.weight(
                    antialias ? distance.times(dimension.stretch) : distance, coefficient);
            var at = position.floor.plus(relative);
            if (excludeOutside) {
              var counts = at.ge(k.integer(0)).and(at.lt(window.in()));
              weight = weight.where(counts, weight.constant(0));
            }
            taps(
                i + 1,
                pixel.times(window.in()).plus(inside(k, at, window.in())),
                i == 0 ? weight : outer.times(weight));
          };
      if (antialias) {
        k.loop(k.integer(0), window.kernel(), 1, each);
      } else {
        IntStream.range(0, 2 * filter.reach).forEach(tap -> each.accept(k.integer(tap)));
      }
    }
  }
}
