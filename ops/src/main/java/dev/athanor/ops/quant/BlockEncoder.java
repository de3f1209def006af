package dev.athanor.ops.quant;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Blocks;
import dev.athanor.ops.quant.BlockRule.Scale;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Encodes a block of 32 numbers by neighboring lanes, each of which holds the numbers of a part
 * that {@link BlockFormat#decode} returns. All lanes of a warp take part.
 */
final class BlockEncoder {

  /** Just below one half: added before truncation, it rounds ties away from zero, and only ties. */
  private static final float HALF = Math.nextDown(0.5f);

  /** Beyond the position of any number. */
  private static final int NOWHERE = 1000;

  private final KernelBuilder k;
  private final BlockRule rule;
  private final BlockLayout layout;
  private final Int part;
  private final List<List<Real>> runs;
  private final int length;
  private final int lanes;

  /**
   * Prepares the encoder of a block.
   *
   * @param part of this lane: lane 0 of the block has part 0, and so on
   * @param runs the f32 numbers of the part
   */
  BlockEncoder(KernelBuilder k, BlockRule rule, Int part, List<List<Real>> runs) {
    this.k = k;
    this.rule = rule;
    this.layout = BlockLayout.of(rule.format());
    this.part = part;
    this.runs = runs;
    this.length = runs.getFirst().size();
    this.lanes = BlockFormat.parts(rule.format(), length);
  }

  /** Scale factors of a block: {@code x ≈ scale · q + minimum}. */
  private record Factors(Real scale, Real minimum) {}

  /**
   * Stores the block if {@code exists}.
   *
   * @param block its first byte
   */
  void store(GlobalPointer block, Predicate exists) {
    if (rule.scale() == Scale.EXPONENT) {
      var exponent = magnitude().bits().shr(23).plus(-2).max(k.integer(0));
      var quants = magnitudes(Quants.halvedPower(k, exponent));
      k.when(exists.and(part.eq(0)), () -> block.store(k.integer(0), exponent.value()));
      k.when(exists, () -> store(block, quants));
      return;
    }
    var factors = factors();
    var inverse = zero().where(factors.scale.eq(0), k.real(Type.F32, 1).over(factors.scale));
    var quants = map(value -> quant(number(value), inverse, factors.minimum));
    var scale = rule.scale() == Scale.FITTED ? fitted(quants, factors.scale) : factors.scale;
    var fifths = fifths(quants);
    k.when(
        exists.and(part.eq(0)),
        () -> {
          var halves = block.as(Type.F16);
          halves.store(k.integer(0), scale.to(Type.F16));
          if (layout.minimum() > 0) {
            halves.store(k.integer(layout.minimum() / 2), factors.minimum.to(Type.F16));
          }
          if (layout.fifths() > 0) {
            var words = block.as(Type.U16);
            words.store(k.integer(layout.fifths() / 2), fifths.value());
            words.store(k.integer(layout.fifths() / 2 + 1), fifths.shr(16).value());
          }
        });
    k.when(exists, () -> store(block, quants));
  }

  private Real zero() {
    return k.real(Type.F32, 0);
  }

  private Stream<Real> all() {
    return runs.stream().flatMap(List::stream);
  }

  private List<List<Int>> map(Function<Real, Int> each) {
    return runs.stream().map(run -> run.stream().map(each).toList()).toList();
  }

  private static Predicate isFinite(Real value) {
    return value.abs().lt(Double.POSITIVE_INFINITY);
  }

  /** Replaces a NaN by 0. */
  private Real number(Real value) {
    return zero().where(value.isNan(), value);
  }

  private Real finite(Real value) {
    return value.where(isFinite(value), zero());
  }

  /** Reduces numbers of all lanes; infinite ones and NaN become {@code neutral}. */
  private Real reduce(Stream<Real> numbers, double neutral, BinaryOperator<Real> combine) {
    var own =
        numbers
            .map(value -> value.where(isFinite(value), k.real(Type.F32, neutral)))
            .reduce(combine)
            .orElseThrow();
    return k.reduceLanes(own, lanes, combine);
  }

  private Int reduce(Int own, BinaryOperator<Int> combine) {
    var all = own;
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      all = combine.apply(all, all.value().fromLaneXor(distance).integer());
    }
    return all;
  }

  /** Returns the largest magnitude. */
  private Real magnitude() {
    return reduce(all().map(Real::abs), 0, Real::max);
  }

  /** Returns the first number of the largest magnitude. */
  private Real extreme() {
    var magnitude = magnitude();
    var first = k.integer(NOWHERE);
    for (int run = runs.size() - 1; run >= 0; run--) {
      for (int i = length - 1; i >= 0; i--) {
        // twice the position, plus 1 if the number is negative
        int at = 2 * (run * BlockFormat.apart(rule.format()) + i);
        var value = runs.get(run).get(i);
        var key = k.integer(at + 1).where(value.lt(0), k.integer(at));
        first = key.where(value.abs().eq(magnitude), first);
      }
    }
    var key = reduce(first.plus(part.times(2 * length)), Int::min);
    return magnitude.negate().where(key.and(1).eq(1), magnitude);
  }

  private Factors factors() {
    return switch (rule.scale()) {
      case MAGNITUDE -> new Factors(divided(magnitude()), zero());
      case EXTREME -> new Factors(divided(extreme()), zero());
      case FITTED -> {
        var extreme = extreme();
        var isSmall = extreme.abs().lt(BlockRule.LEAST_FITTED);
        yield new Factors(zero().where(isSmall, divided(extreme)), zero());
      }
      case RANGE -> {
        var least = reduce(all(), Double.POSITIVE_INFINITY, Real::min);
        var most = reduce(all(), Double.NEGATIVE_INFINITY, Real::max);
        var isEmpty = least.gt(most);
        // the sum of -0 and 0 is 0
        var minimum = zero().where(isEmpty, least.plus(0));
        var range = zero().where(isEmpty, most.plus(0).minus(minimum));
        yield new Factors(divided(range), minimum);
      }
      case EXPONENT -> throw new IllegalStateException(rule.format().text());
    };
  }

  private Real divided(Real extent) {
    return extent.over(k.real(Type.F32, rule.divisor()));
  }

  private Int quant(Real value, Real inverse, Real minimum) {
    return switch (rule.scale()) {
      case MAGNITUDE -> {
        var scaled = value.times(inverse);
        var half = k.real(Type.F32, -HALF).where(scaled.lt(0), k.real(Type.F32, HALF));
        yield truncated(scaled.plus(half), -rule.greatest());
      }
      case EXTREME -> truncated(value.times(inverse).plus(rule.bias()), 0);
      case RANGE -> truncated(value.minus(minimum).times(inverse).plus(rule.bias()), 0);
      case FITTED -> exceeded(value.times(inverse), thresholds(t -> k.real(Type.F32, t)));
      case EXPONENT -> throw new IllegalStateException(rule.format().text());
    };
  }

  /** Truncates and clamps a number; a NaN becomes 0. */
  private Int truncated(Real value, int least) {
    return k.compute(Type.S32, "cvt.rzi.s32.f32", value)
        .integer()
        .max(k.integer(least))
        .min(k.integer(rule.greatest()));
  }

  private List<Real> thresholds(Function<Float, Real> each) {
    return rule.thresholds().stream().map(each).toList();
  }

  /** Returns the number of thresholds that a number exceeds. */
  private Int exceeded(Real value, List<Real> thresholds) {
    var count = k.integer(0);
    for (int i = 0; i < thresholds.size(); i++) {
      count = k.integer(i + 1).where(value.gt(thresholds.get(i)), count);
    }
    return count;
  }

  /** Returns quants of a magnitude and a sign, which is that of the number unless they are 0. */
  private List<List<Int>> magnitudes(Real unit) {
    var thresholds = thresholds(t -> unit.times(t));
    return map(value -> {
      var number = number(value);
      var magnitude = exceeded(number.abs(), thresholds);
      var negative = magnitude.plus(8).where(magnitude.gt(k.integer(0)), magnitude);
      return negative.where(number.lt(0), magnitude);
    });
  }

  /**
   * Returns the scale that minimizes the weighted squared error. Sums are in the order of the
   * numbers, from lane to lane.
   */
  private Real fitted(List<List<Int>> quants, Real scale) {
    var table = Blocks.table(rule.format());
    var products = zero();
    var squares = zero();
    var firstLane = k.lane().minus(part);
    for (int run = 0; run < runs.size(); run++) {
      var ownProducts = new ArrayList<Real>();
      var ownSquares = new ArrayList<Real>();
      for (int i = 0; i < length; i++) {
        var value = finite(runs.get(run).get(i));
        var entry = entry(quants.get(run).get(i), table);
        var weighted = value.times(value).times(entry);
        ownProducts.add(weighted.times(value));
        ownSquares.add(weighted.times(entry));
      }
      for (int lane = 0; lane < lanes; lane++) {
        var from = firstLane.plus(lane);
        products = ownProducts.stream().reduce(products, Real::plus).fromLane(from);
        squares = ownSquares.stream().reduce(squares, Real::plus).fromLane(from);
      }
    }
    return zero().where(scale.eq(0), products.over(squares));
  }

  private Real entry(Int quant, List<Integer> table) {
    var entry = k.real(Type.F32, table.getFirst());
    for (int i = 1; i < table.size(); i++) {
      entry = k.real(Type.F32, table.get(i)).where(quant.eq(i), entry);
    }
    return entry;
  }

  /** Returns the fifth bits of all quants of the block. */
  private Int fifths(List<List<Int>> quants) {
    var own = k.integer(0);
    if (layout.fifths() == 0) {
      return own;
    }
    for (int run = 0; run < quants.size(); run++) {
      for (int i = 0; i < length; i++) {
        int at = run * BlockFormat.apart(rule.format()) + i;
        own = own.or(quants.get(run).get(i).shr(4).shl(at));
      }
    }
    return reduce(own.shl(part.times(length)), Int::or);
  }

  /** Stores the quants of this lane, in the widest accesses that the alignment allows. */
  private void store(GlobalPointer block, List<List<Int>> quants) {
    var bytes = new ArrayList<Int>();
    for (int i = 0; i < length; i++) {
      var first = quants.getFirst().get(i);
      bytes.add(
          quants.size() == 1
              ? first.and(0xFF)
              : first.and(15).or(quants.getLast().get(i).and(15).shl(4)));
    }
    int access =
        Math.min(
            Math.min(4, BlockFormat.alignment(rule.format())),
            Integer.lowestOneBit(layout.quants()));
    var to =
        block.as(
            switch (access) {
              case 1 -> Type.U8;
              case 2 -> Type.U16;
              default -> Type.U32;
            });
    for (int i = 0; i < length; i += access) {
      var joined = bytes.get(i);
      for (int b = 1; b < access; b++) {
        joined = joined.or(bytes.get(i + b).shl(8 * b));
      }
      to.store(part.times(length / access).plus((layout.quants() + i) / access), joined.value());
    }
  }
}
