package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** A combination of integers of 32 or 64 bits; sums and products wrap. */
enum IntegerFold implements Fold {
  SUM("add", 0, 0),
  PRODUCT("mul.lo", 1, 1),
  MAX("max", Integer.MIN_VALUE, Long.MIN_VALUE),
  MIN("min", Integer.MAX_VALUE, Long.MAX_VALUE),
  /** Whether an integer is 1; the integers are 0 or 1. */
  ANY("max", 0, 0),
  /** Whether all integers are 1; the integers are 0 or 1. */
  ALL("min", 1, 1);

  private final String opcode;
  private final int neutral;
  private final long wideNeutral;

  IntegerFold(String opcode, int neutral, long wideNeutral) {
    this.opcode = opcode;
    this.neutral = neutral;
    this.wideNeutral = wideNeutral;
  }

  @Override
  public List<Type> state(Type number) {
    return List.of(number);
  }

  @Override
  public Value neutral(KernelBuilder k, Type number) {
    return Fold.constant(k, number, number == Type.S64 ? wideNeutral : neutral);
  }

  @Override
  public List<Value> empty(KernelBuilder k, Type number, Int first) {
    return List.of(neutral(k, number));
  }

  @Override
  public List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside) {
    return merge(k, state, List.of(number));
  }

  @Override
  public List<Value> merge(
      KernelBuilder k, List<? extends Value> one, List<? extends Value> other) {
    var type = one.getFirst().type();
    return List.of(
        k.compute(type, "%s.%s".formatted(opcode, type.word()), one.getFirst(), other.getFirst()));
  }
}
