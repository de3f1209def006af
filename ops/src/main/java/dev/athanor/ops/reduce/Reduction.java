package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.Locale;

/**
 * What is made of all numbers along a dimension. On the device it is kept in a state of a few
 * values, which two threads' states are merged into; the order in which they are merged changes a
 * sum by less than its last digit and nothing else at all.
 */
enum Reduction {
  SUM,
  /** The sum over how many there are. */
  MEAN,
  /** The greatest; NaN if one is. */
  MAX,
  /** The least; NaN if one is. */
  MIN,
  /** The index of the greatest, of equal ones the first; a NaN is the greatest. */
  ARGMAX;

  /** The name in requests. */
  String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Reduction of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT));
  }

  private boolean sums() {
    return this == SUM || this == MEAN;
  }

  /** What a part of the numbers is reduced to: only a whole has a mean. */
  Reduction partial() {
    return this == MEAN ? SUM : this;
  }

  /** The types of a state's values, where the numbers are f32 or f64. */
  List<Type> state(Type number) {
    return sums()
        ? List.of(number, number)
        : this == ARGMAX ? List.of(number, Type.S32) : List.of(number);
  }

  /** A number that changes no state that has met another. */
  double neutral() {
    return sums() ? 0 : this == MIN ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
  }

  /**
   * The state of no numbers.
   *
   * @param first the index of the first number that the thread will add, or one beyond all when
   *     there will be none
   */
  List<Value> empty(KernelBuilder k, Type number, Int first) {
    var neutral = k.real(number, neutral());
    return sums()
        ? List.of(neutral, neutral)
        : this == ARGMAX ? List.of(neutral, first.value()) : List.of(neutral);
  }

  /** The state with one more number, whose index is beyond those of all before. */
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

  /** One state of the numbers of two. */
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

  /** The greater or the lesser, NaN if one is. */
  private Real further(Real number, Real than) {
    var further = this == MAX ? number.gt(than) : number.lt(than);
    return number.where(further.or(number.isNan()), than);
  }

  /** What the rounding of a sum lost, exactly (Knuth, The Art of Computer Programming, 4.2.2). */
  private static Real lost(Real a, Real b, Real sum) {
    var ofB = sum.minus(a);
    var ofA = sum.minus(ofB);
    return a.minus(ofA).plus(b.minus(ofB));
  }

  /** The result, from the state of all of so many numbers. */
  Value result(List<? extends Value> state, Int count) {
    if (!sums()) {
      return state.getLast();
    }
    var sum = state.getFirst().widen();
    var rest = state.getLast().widen();
    // an infinite sum has lost what is no number
    var all = sum.where(rest.isNan(), sum.plus(rest));
    return this == MEAN ? all.over(count.real(all.type())) : all;
  }

  /** The result in float64. */
  double of(double[] numbers) {
    double state = neutral();
    double lost = 0;
    int index = 0;
    for (int i = 0; i < numbers.length; i++) {
      double x = numbers[i];
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
      case MEAN -> sum / numbers.length;
      case MAX, MIN -> state;
      case ARGMAX -> index;
    };
  }
}
