package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** A compensated product of floats: the product and its rounding error. */
record ProductFold() implements Fold {

  @Override
  public List<Type> state(Type number) {
    return List.of(number, number);
  }

  @Override
  public Real neutral(KernelBuilder k, Type number) {
    return k.real(number, 1);
  }

  @Override
  public List<Value> empty(KernelBuilder k, Type number, Int first) {
    return List.of(k.real(number, 1), k.real(number, 0));
  }

  @Override
  public List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside) {
    var a = state.getFirst().widen();
    var b = number.widen();
    var product = a.times(b);
    var lost = a.fma(b, product.negate());
    return List.of(product, state.getLast().widen().fma(b, lost));
  }

  @Override
  public List<Value> merge(
      KernelBuilder k, List<? extends Value> one, List<? extends Value> other) {
    var a = one.getFirst().widen();
    var b = other.getFirst().widen();
    var product = a.times(b);
    var lost = one.getLast().widen().fma(b, a.fma(b, product.negate()));
    return List.of(product, a.fma(other.getLast().widen(), lost));
  }
}
