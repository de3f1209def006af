package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifiers;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;

/** The values that lane functions consume, in order. */
final class Sources {

  private final Deque<Value> left;
  private final Modifiers modifiers;

  Sources(List<Value> values, Modifiers modifiers) {
    this.left = new ArrayDeque<>(values);
    this.modifiers = modifiers;
  }

  Modifiers modifiers() {
    return modifiers;
  }

  boolean has(String modifier) {
    return modifiers.has(modifier);
  }

  /** Returns the next value without consuming it. */
  Value first() {
    return Objects.requireNonNull(left.peekFirst());
  }

  Value next() {
    return left.removeFirst();
  }

  boolean isEmpty() {
    return left.isEmpty();
  }

  /** Passes a result to the next function. */
  void giveBack(Value result) {
    left.addFirst(result);
  }
}
