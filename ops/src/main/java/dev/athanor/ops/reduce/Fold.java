package dev.athanor.ops.reduce;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * An associative combination of numbers on the device. A thread accumulates numbers in a state of a
 * few values; states are then merged.
 */
interface Fold {

  /** Returns the types of a state's values for numbers of a type. */
  List<Type> state(Type number);

  /** Returns a number that does not change a state. */
  Value neutral(KernelBuilder k, Type number);

  /**
   * Returns the state of no numbers.
   *
   * @param first index of the first number that the thread will add; greater than all indices if it
   *     adds none
   */
  List<Value> empty(KernelBuilder k, Type number, Int first);

  /**
   * Adds a number, whose index is greater than those of all before, and returns the new state.
   *
   * @param inside whether the number exists; otherwise it is neutral
   */
  List<Value> add(
      KernelBuilder k, List<? extends Value> state, Value number, Int index, Predicate inside);

  /** Merges two states. */
  List<Value> merge(KernelBuilder k, List<? extends Value> one, List<? extends Value> other);

  /** Returns whether numbers of a type are integers. */
  static boolean isInteger(Type number) {
    return number == Type.S32 || number == Type.S64;
  }

  /** Returns a constant of f32, f64, s32 or s64. */
  static Value constant(KernelBuilder k, Type type, long value) {
    return switch (type) {
      case S32 -> k.integer((int) value).value();
      case S64 -> k.wide(value).value();
      default -> k.real(type, (double) value);
    };
  }

  /** Returns the first value where the condition holds, else the second. */
  static Value where(Predicate condition, Value value, Value other) {
    if (!isInteger(value.type())) {
      return value.widen().where(condition, other.widen());
    }
    return value.type() == Type.S64
        ? value.wide().where(condition, other.wide()).value()
        : value.integer().where(condition, other.integer()).value();
  }

  /** Returns the first state where the condition holds, else the second. */
  static List<Value> where(
      Predicate condition, List<? extends Value> state, List<? extends Value> other) {
    var values = new ArrayList<Value>();
    for (int i = 0; i < state.size(); i++) {
      values.add(where(condition, state.get(i), other.get(i)));
    }
    return values;
  }
}
