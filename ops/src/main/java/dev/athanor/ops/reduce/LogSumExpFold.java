package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.expression.RealFunctions;
import java.util.List;

/**
 * The maximum of floats, and the compensated sum of the exponentials of their differences to it.
 */
record LogSumExpFold() implements Fold {

  @Override
  public List<Type> state(Type number) {
    return List.of(number, number, number);
  }

  @Override
  public Real neutral(KernelBuilder k, Type number) {
    return k.real(number, Double.NEGATIVE_INFINITY);
  }

  /** The maximum is finite, so that its difference to an infinity is infinite. */
  @Override
  public List<Value> empty(KernelBuilder k, Type number, Int first) {
    var zero = k.real(number, 0);
    var dtype = number == Type.F64 ? DType.F64 : DType.F32;
    return List.of(k.real(number, -dtype.greatest()), zero, zero);
  }

  @Override
  public List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside) {
    var x = number.widen();
    return merge(k, state, List.of(x, x.constant(1), x.constant(0)));
  }

  @Override
  public List<Value> merge(
      KernelBuilder k, List<? extends Value> one, List<? extends Value> other) {
    var a = one.getFirst().widen();
    var b = other.getFirst().widen();
    var grows = b.gt(a);
    var unit = a.constant(1);
    var distance = a.constant(0).where(a.eq(b), a.minus(b).abs());
    var scale = decay(k, distance);
    var scaleA = scale.where(grows, unit);
    var scaleB = unit.where(grows, scale);
    var sumA = one.get(1).widen().times(scaleA);
    var sumB = other.get(1).widen().times(scaleB);
    var sum = sumA.plus(sumB);
    var rest = one.get(2).widen().times(scaleA).plus(other.get(2).widen().times(scaleB));
    return List.of(b.where(grows, a), sum, rest.plus(SumFold.lost(sumA, sumB, sum)));
  }

  /** Returns e to the power of a negated distance. */
  private static Real decay(KernelBuilder k, Real distance) {
    return distance.type() == Type.F64
        ? new RealFunctions(k).exp(distance.negate())
        : distance.times(-1 / Math.log(2)).exp2WithoutSubnormals();
  }

  static Real result(KernelBuilder k, List<? extends Value> state) {
    var sum = SumFold.total(state.get(1), state.get(2));
    return state.getFirst().widen().plus(new RealFunctions(k).log(sum));
  }
}
