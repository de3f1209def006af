package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.Locale;
import java.util.function.IntToDoubleFunction;

/**
 * A reduction of all numbers along a dimension. On the device, each thread accumulates a state of a
 * few values; states are then merged. The order of merging changes a sum by less than its last
 * digit and the other reductions not at all.
 */
enum Reduction {
  SUM,
  /** The sum divided by the number of elements. */
  MEAN,
  /** The maximum; NaN if an element is NaN. */
  MAX,
  /** The minimum; NaN if an element is NaN. */
  MIN,
  /** The index of the first maximum; a NaN counts as the maximum. */
  ARGMAX;

  /** Returns the name in requests. */
  String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Reduction of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT));
  }

  private boolean sums() {
    return this == SUM || this == MEAN;
  }

  /** Returns the reduction of a part of the numbers: a sum for a mean. */
  Reduction partial() {
    return this == MEAN ? SUM : this;
  }

  /** Returns the types of a state's values for numbers of type f32 or f64. */
  List<Type> state(Type number) {
    return sums()
        ? List.of(number, number)
        : this == ARGMAX ? List.of(number, Type.S32) : List.of(number);
  }

  /** Returns the neutral element. */
  double neutral() {
    return sums() ? 0 : this == MIN ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
  }

  /**
   * Returns the state of no numbers.
   *
   * @param first index of the first number that the thread will add; greater than all indices if it
   *     adds none
   */
  List<Value> empty(KernelBuilder k, Type number, Int first) {
    var neutral = k.real(number, neutral());
    return sums()
        ? List.of(neutral, neutral)
        : this == ARGMAX ? List.of(neutral, first.value()) : List.of(neutral);
  }

  /** Adds a number, whose index is greater than those of all before, and returns the new state. */
  List<Value> add(List<? extends Value> state, Real number, Int index) {
    var a = state.getFirst().widen();
    return switch (this) {
      case SUM, MEAN -> {
        var sum = a.plus(number);
        yield List.of(sum, state.getLast().widen().plus(lost(a, number, sum)));
      }
      case MAX, MIN -> List.of(further(number, a));
      case ARGMAX -> {
        var takes = number.gt(a).or(number.isNan().and(a.isNan().not()));
        yield List.of(
            number.where(takes, a), index.where(takes, state.getLast().integer()).value());
      }
    };
  }

  /** Merges two states. */
  List<Value> merge(List<? extends Value> one, List<? extends Value> other) {
    var a = one.getFirst().widen();
    var b = other.getFirst().widen();
    if (sums()) {
      var sum = a.plus(b);
      var rest = one.getLast().widen().plus(other.getLast().widen());
      return List.of(sum, rest.plus(lost(a, b, sum)));
    }
    if (this != ARGMAX) {
      return List.of(further(b, a));
    }
    var i = one.getLast().integer();
    var j = other.getLast().integer();
    var equal = a.eq(b).or(a.isNan().and(b.isNan()));
    var takes = b.gt(a).or(b.isNan().and(a.isNan().not())).or(equal.and(j.lt(i)));
    return List.of(b.where(takes, a), j.where(takes, i).value());
  }

  /** Returns the greater or the lesser number; NaN if one is NaN. */
  private Real further(Real number, Real than) {
    var further = this == MAX ? number.gt(than) : number.lt(than);
    return number.where(further.or(number.isNan()), than);
  }

  /** Returns the exact rounding error of a sum (Knuth, The Art of Computer Programming, 4.2.2). */
  private static Real lost(Real a, Real b, Real sum) {
    var ofB = sum.minus(a);
    var ofA = sum.minus(ofB);
    return a.minus(ofA).plus(b.minus(ofB));
  }

  /** Returns the result, from the state of all {@code count} numbers. */
  Value result(List<? extends Value> state, Int count) {
    if (!sums()) {
      return state.getLast();
    }
    var sum = state.getFirst().widen();
    var rest = state.getLast().widen();
    // the rounding error of an infinite sum is NaN
    var all = sum.where(rest.isNan(), sum.plus(rest));
    return this == MEAN ? all.over(count.real(all.type())) : all;
  }

  /** Returns the result of {@code n} numbers in float64. */
  double of(int n, IntToDoubleFunction numbers) {
    double state = neutral();
    double lost = 0;
    int index = 0;
    for (int i = 0; i < n; i++) {
      double x = numbers.applyAsDouble(i);
      switch (this) {
        case SUM, MEAN -> {
          double sum = state + x;
          double ofX = sum - state;
          lost += (state - (sum - ofX)) + (x - ofX);
          state = sum;
        }
        case MAX -> state = Math.max(state, x);
        case MIN -> state = Math.min(state, x);
        case ARGMAX -> {
          if (x > state || (Double.isNaN(x) && !Double.isNaN(state))) {
            state = x;
            index = i;
          }
        }
      }
    }
    double sum = Double.isNaN(lost) ? state : state + lost;
    return switch (this) {
      case SUM -> sum;
      case MEAN -> sum / n;
      case MAX, MIN -> state;
      case ARGMAX -> index;
    };
  }
}
