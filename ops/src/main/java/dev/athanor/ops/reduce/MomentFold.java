package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/**
 * The sum of floats and the sum of their squares, each with its rounding errors: about twice the
 * digits of the numbers, so that the variance keeps its digits if the mean is much greater.
 */
record MomentFold() implements Fold {

  private static final SumFold SUM = new SumFold();

  @Override
  public List<Type> state(Type number) {
    return List.of(number, number, number, number);
  }

  @Override
  public Real neutral(KernelBuilder k, Type number) {
    return SUM.neutral(k, number);
  }

  @Override
  public List<Value> empty(KernelBuilder k, Type number, Int first) {
    var zero = k.real(number, 0);
    return List.of(zero, zero, zero, zero);
  }

  @Override
  public List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside) {
    var x = number.widen();
    var square = x.times(x);
    return merge(k, state, List.of(x, x.constant(0), square, x.fma(x, square.negate())));
  }

  @Override
  public List<Value> merge(
      KernelBuilder k, List<? extends Value> one, List<? extends Value> other) {
    var sum = SUM.merge(k, one.subList(0, 2), other.subList(0, 2));
    var squares = SUM.merge(k, one.subList(2, 4), other.subList(2, 4));
    return List.of(sum.getFirst(), sum.getLast(), squares.getFirst(), squares.getLast());
  }

  /** Returns the sum of the squared differences to the mean. */
  static Real squaredDifferences(List<? extends Value> state, Int count) {
    var s = SumFold.total(state.get(0), state.get(1));
    var type = s.type();
    // the sum and the number of elements in two parts each
    var low = state.get(0).widen().minus(s).plus(state.get(1).widen());
    var n = count.real(type);
    var lowN = count.minus(n.round()).real(type);
    var mean = s.over(n);
    var rest = mean.negate().fma(lowN, mean.negate().fma(n, s).plus(low));
    // Σx² - n·mean² - 2·mean·rest - rest²/n, where rest = Σx - n·mean
    var square = mean.times(mean);
    var lost = mean.fma(mean, square.negate());
    var product = n.times(square);
    var lostProduct = n.fma(square, product.negate());
    var q = state.get(2).widen();
    var small =
        state
            .get(3)
            .widen()
            .minus(lostProduct)
            .minus(n.times(lost))
            .minus(lowN.times(square))
            .minus(mean.times(rest).times(2))
            .minus(rest.times(rest).over(n));
    var difference = q.minus(product).plus(small).max(s.constant(0));
    var infinity = s.constant(Double.POSITIVE_INFINITY);
    var bounded = difference.where(q.lt(infinity), infinity);
    return bounded.where(s.abs().lt(infinity), s.constant(Double.NaN));
  }
}
