package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** A compensated sum of floats: the sum and the sum of its rounding errors. */
record SumFold() implements Fold {

  @Override
  public List<Type> state(Type number) {
    return List.of(number, number);
  }

  @Override
  public Real neutral(KernelBuilder k, Type number) {
    return k.real(number, 0);
  }

  @Override
  public List<Value> empty(KernelBuilder k, Type number, Int first) {
    var zero = k.real(number, 0);
    return List.of(zero, zero);
  }

  @Override
  public List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside) {
    var a = state.getFirst().widen();
    var b = number.widen();
    var sum = a.plus(b);
    return List.of(sum, state.getLast().widen().plus(lost(a, b, sum)));
  }

  @Override
  public List<Value> merge(
      KernelBuilder k, List<? extends Value> one, List<? extends Value> other) {
    var a = one.getFirst().widen();
    var b = other.getFirst().widen();
    var sum = a.plus(b);
    var rest = one.getLast().widen().plus(other.getLast().widen());
    return List.of(sum, rest.plus(lost(a, b, sum)));
  }

  /** Returns the exact rounding error of a sum (Knuth, The Art of Computer Programming, 4.2.2). */
  static Real lost(Real a, Real b, Real sum) {
    var ofB = sum.minus(a);
    var ofA = sum.minus(ofB);
    return a.minus(ofA).plus(b.minus(ofB));
  }

  /** Returns the number that a rounded number and its rounding error represent. */
  static Real total(Value rounded, Value error) {
    var sum = rounded.widen();
    var rest = error.widen();
    // the rounding error of an infinite sum is NaN
    return sum.where(rest.isNan(), sum.plus(rest));
  }
}
