package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.expression.RealFunctions;
import dev.athanor.ops.map.Elements;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A reduction of numbers to one: a function of each number, a {@link Fold}, and a function of the
 * final state. The order of merging changes a sum or a product by less than its last digit and the
 * other reductions not at all.
 */
enum Reduction {
  SUM,
  /** The sum divided by the number of elements. */
  MEAN,
  /** The maximum; NaN if an element is NaN. */
  MAX,
  /** The minimum; NaN if an element is NaN. */
  MIN,
  PROD,
  /** Whether a bool is true. */
  ANY,
  /** Whether all bools are true. */
  ALL,
  /** The sum of magnitudes. */
  L1,
  /** The square root of the sum of squares. */
  L2,
  SUM_SQUARE,
  LOG_SUM,
  /** The logarithm of the sum of exponentials. */
  LOG_SUM_EXP,
  VARIANCE,
  STD,
  /** The index of the first maximum; a NaN counts as the maximum. */
  ARGMAX,
  /** The index of the last maximum. */
  ARGMAX_LAST,
  /** The index of the first minimum; a NaN counts as the minimum. */
  ARGMIN,
  /** The index of the last minimum. */
  ARGMIN_LAST;

  private static final Set<DType> FLOATS = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);
  private static final Set<DType> INTEGERS = Set.of(DType.I64, DType.I32, DType.I8, DType.U8);

  /** Returns the name in requests. */
  String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static Reduction of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  /**
   * Returns the number of which the reduction is that of no numbers, such as 0 for a sum and NaN
   * for a mean, as in NumPy; empty if that is undefined.
   */
  OptionalDouble neutral() {
    return switch (this) {
      case SUM, ANY, L1, L2, SUM_SQUARE, LOG_SUM -> OptionalDouble.of(0);
      case PROD, ALL -> OptionalDouble.of(1);
      case MEAN, VARIANCE, STD -> OptionalDouble.of(Double.NaN);
      case LOG_SUM_EXP -> OptionalDouble.of(Double.NEGATIVE_INFINITY);
      case MAX, MIN, ARGMAX, ARGMAX_LAST, ARGMIN, ARGMIN_LAST -> OptionalDouble.empty();
    };
  }

  /** Returns the dtypes of elements that it accepts. */
  Set<DType> dtypes() {
    return switch (this) {
      case SUM, PROD, L1, SUM_SQUARE -> union(FLOATS, Set.of(DType.I64, DType.I32));
      case MAX, MIN, ARGMAX, ARGMAX_LAST, ARGMIN, ARGMIN_LAST -> union(FLOATS, INTEGERS);
      case ANY, ALL -> Set.of(DType.BOOL);
      case MEAN, L2, VARIANCE, STD, LOG_SUM, LOG_SUM_EXP -> FLOATS;
    };
  }

  private static Set<DType> union(Set<DType> some, Set<DType> others) {
    return Stream.concat(some.stream(), others.stream()).collect(Collectors.toUnmodifiableSet());
  }

  /** Returns whether the result is an index. */
  boolean isPosition() {
    return switch (this) {
      case ARGMAX, ARGMAX_LAST, ARGMIN, ARGMIN_LAST -> true;
      default -> false;
    };
  }

  /** Returns whether the result depends on the correction of the number of elements. */
  boolean isDispersion() {
    return this == VARIANCE || this == STD;
  }

  /** Returns the reduction of a part of the numbers: a sum for a mean. */
  Reduction partial() {
    return switch (this) {
      case MEAN, LOG_SUM -> SUM;
      case L2 -> SUM_SQUARE;
      case STD -> VARIANCE;
      default -> this;
    };
  }

  /** Returns the type of arithmetic: s32 for integers of at most 32 bits, whose results wrap. */
  Type number(DType in) {
    return switch (in) {
      case F64 -> Type.F64;
      case F32, F16, BF16 -> Type.F32;
      case I64 -> Type.S64;
      default -> Type.S32;
    };
  }

  /** Returns the combination of numbers of a type. */
  Fold fold(Type number) {
    boolean whole = Fold.isInteger(number);
    return switch (this) {
      case SUM, MEAN, L1, L2, SUM_SQUARE, LOG_SUM -> whole ? IntegerFold.SUM : new SumFold();
      case PROD -> whole ? IntegerFold.PRODUCT : new ProductFold();
      case MAX -> whole ? IntegerFold.MAX : new ExtremeFold(true);
      case MIN -> whole ? IntegerFold.MIN : new ExtremeFold(false);
      case ANY -> IntegerFold.ANY;
      case ALL -> IntegerFold.ALL;
      case LOG_SUM_EXP -> new LogSumExpFold();
      case VARIANCE, STD -> new MomentFold();
      case ARGMAX -> new PositionFold(true, false);
      case ARGMAX_LAST -> new PositionFold(true, true);
      case ARGMIN -> new PositionFold(false, false);
      case ARGMIN_LAST -> new PositionFold(false, true);
    };
  }

  /** Converts an element to a number. */
  Value read(Elements elements, DType in, Value element) {
    return switch (number(in)) {
      case S32 -> element.integer().value();
      case S64 -> element.wide().value();
      default -> elements.widen(in, element);
    };
  }

  /** Returns the function of a number that is combined. */
  Value term(KernelBuilder k, Value number) {
    var type = number.type();
    boolean whole = Fold.isInteger(type);
    return switch (this) {
      case L1 -> whole ? k.compute(type, "abs." + type.word(), number) : number.widen().abs();
      case L2, SUM_SQUARE ->
          whole
              ? k.compute(type, "mul.lo." + type.word(), number, number)
              : number.widen().times(number.widen());
      default -> number;
    };
  }

  /**
   * Returns the result from the state of all numbers.
   *
   * @param count the number of numbers
   * @param divisor of a variance
   */
  Value result(KernelBuilder k, List<? extends Value> state, Int count, Int divisor) {
    var first = state.getFirst();
    boolean whole = Fold.isInteger(first.type());
    return switch (this) {
      case SUM, PROD, L1, SUM_SQUARE -> whole ? first : SumFold.total(first, state.getLast());
      case MEAN -> {
        var sum = SumFold.total(first, state.getLast());
        yield sum.over(count.real(sum.type()));
      }
      case L2 -> SumFold.total(first, state.getLast()).sqrt();
      case LOG_SUM -> new RealFunctions(k).log(SumFold.total(first, state.getLast()));
      case LOG_SUM_EXP -> LogSumExpFold.result(k, state);
      case VARIANCE, STD -> {
        var all = MomentFold.squaredDifferences(state, count);
        var variance = all.over(divisor.real(all.type()));
        yield this == STD ? variance.sqrt() : variance;
      }
      case MAX, MIN, ANY, ALL, ARGMAX, ARGMAX_LAST, ARGMIN, ARGMIN_LAST -> state.getLast();
    };
  }
}
