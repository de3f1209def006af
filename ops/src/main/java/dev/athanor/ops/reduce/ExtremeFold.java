package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/**
 * The maximum or the minimum of floats; NaN if one is NaN.
 *
 * @param greatest whether it is the maximum
 */
record ExtremeFold(boolean greatest) implements Fold {

  @Override
  public List<Type> state(Type number) {
    return List.of(number);
  }

  @Override
  public Real neutral(KernelBuilder k, Type number) {
    return k.real(number, greatest ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY);
  }

  @Override
  public List<Value> empty(KernelBuilder k, Type number, Int first) {
    return List.of(neutral(k, number));
  }

  @Override
  public List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside) {
    var a = state.getFirst().widen();
    return List.of(further(number.widen(), a));
  }

  @Override
  public List<Value> merge(
      KernelBuilder k, List<? extends Value> one, List<? extends Value> other) {
    var a = one.getFirst().widen();
    var b = other.getFirst().widen();
    return List.of(further(b, a));
  }

  private Real further(Real number, Real than) {
    var further = greatest ? number.gt(than) : number.lt(than);
    return number.where(further.or(number.isNan()), than);
  }
}
