package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/**
 * The index of the maximum or the minimum; a NaN is beyond all numbers.
 *
 * @param greatest whether it is that of the maximum
 * @param last whether the last of several wins, not the first
 */
record PositionFold(boolean greatest, boolean last) implements Fold {

  @Override
  public List<Type> state(Type number) {
    return List.of(number, Type.S32);
  }

  @Override
  public Value neutral(KernelBuilder k, Type number) {
    return Fold.isInteger(number)
        ? (greatest ? IntegerFold.MAX : IntegerFold.MIN).neutral(k, number)
        : new ExtremeFold(greatest).neutral(k, number);
  }

  @Override
  public List<Value> empty(KernelBuilder k, Type number, Int first) {
    return List.of(neutral(k, number), (last ? k.integer(-1) : first).value());
  }

  @Override
  public List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside) {
    var a = state.getFirst();
    // a neutral number that does not exist equals the least number
    var takes = last ? isBeyond(a, number).not().and(inside) : isBeyond(number, a);
    return List.of(
        Fold.where(takes, number, a), index.where(takes, state.getLast().integer()).value());
  }

  @Override
  public List<Value> merge(
      KernelBuilder k, List<? extends Value> one, List<? extends Value> other) {
    var a = one.getFirst();
    var b = other.getFirst();
    var i = one.getLast().integer();
    var j = other.getLast().integer();
    var equal = isEqual(a, b);
    var takes = isBeyond(b, a).or(equal.and(last ? j.gt(i) : j.lt(i)));
    return List.of(Fold.where(takes, b, a), j.where(takes, i).value());
  }

  private static Predicate isEqual(Value one, Value other) {
    if (!Fold.isInteger(one.type())) {
      var a = one.widen();
      var b = other.widen();
      return a.eq(b).or(a.isNan().and(b.isNan()));
    }
    return one.type() == Type.S64
        ? one.wide().ne(other.wide()).not()
        : one.integer().eq(other.integer());
  }

  /** Returns whether a number is greater than another, or less for the minimum. */
  private Predicate isBeyond(Value one, Value other) {
    if (!Fold.isInteger(one.type())) {
      var a = one.widen();
      var b = other.widen();
      var further = greatest ? a.gt(b) : a.lt(b);
      return further.or(a.isNan().and(b.isNan().not()));
    }
    var low = greatest ? other : one;
    var high = greatest ? one : other;
    return one.type() == Type.S64 ? low.wide().lt(high.wide()) : low.integer().lt(high.integer());
  }
}
