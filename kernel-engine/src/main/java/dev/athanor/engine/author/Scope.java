package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A block of the kernel: the statements that were written in it so far, and the values that it
 * knows.
 */
final class Scope {
  final @Nullable Scope parent;
  private final boolean repeats;
  final List<Statement> statements = new ArrayList<>();

  /** Results of pure instructions by opcode and operands, so that none is computed twice. */
  final Map<List<Object>, Operand.Register> known = new HashMap<>();

  /**
   * An empty scope.
   *
   * @param repeats whether it is the body of a loop
   */
  Scope(@Nullable Scope parent, boolean repeats) {
    this.parent = parent;
    this.repeats = repeats;
  }

  /** Whether this scope lies in {@code other}, with no loop between that starts it again. */
  boolean isInSameIterationOf(Scope other) {
    for (var s = this; s != null; s = s.parent) {
      if (s == other) {
        return true;
      }
      if (s.repeats) {
        return false;
      }
    }
    return false;
  }

  /** Whether this scope is {@code other} or lies in it. */
  boolean isIn(Scope other) {
    for (var s = this; s != null; s = s.parent) {
      if (s == other) {
        return true;
      }
    }
    return false;
  }
}
