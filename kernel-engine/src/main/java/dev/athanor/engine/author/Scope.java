package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A block of the kernel: the statements emitted so far, and the results available in it. */
final class Scope {
  final @Nullable Scope parent;
  private final boolean isLoop;
  final List<Statement> statements = new ArrayList<>();

  /** Results of pure instructions by opcode and operands, for common subexpressions. */
  final Map<List<Object>, Operand.Register> results = new HashMap<>();

  /**
   * An empty scope.
   *
   * @param isLoop whether the scope is the body of a loop
   */
  Scope(@Nullable Scope parent, boolean isLoop) {
    this.parent = parent;
    this.isLoop = isLoop;
  }

  /** Returns whether this scope lies in {@code other} without a loop in between. */
  boolean isInSameIterationOf(Scope other) {
    for (var s = this; s != null; s = s.parent) {
      if (s == other) {
        return true;
      }
      if (s.isLoop) {
        return false;
      }
    }
    return false;
  }

  /** Returns whether this scope is {@code other} or lies in it. */
  boolean isIn(Scope other) {
    for (var s = this; s != null; s = s.parent) {
      if (s == other) {
        return true;
      }
    }
    return false;
  }
}
