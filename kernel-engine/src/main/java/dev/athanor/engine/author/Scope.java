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
  final int depth;
  final List<Statement> statements = new ArrayList<>();

  /** Results of pure instructions by opcode and operands, so that none is computed twice. */
  final Map<List<Object>, Operand.Register> known = new HashMap<>();

  Scope(@Nullable Scope parent) {
    this.parent = parent;
    this.depth = parent == null ? 0 : parent.depth + 1;
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
