package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The value of a variable at one point of the kernel. Uses before the next write read the
 * variable's own register; a later use reads a copy, which is then inserted at that point. A value
 * therefore costs an instruction only if it outlives a write.
 */
final class Snapshot implements Supplier<Register> {
  private final BodyEmitter emitter;
  private final Register variable;
  private final int version;
  private final Scope scope;
  private final @Nullable Statement before;
  private final Source source;
  private @Nullable Register copy;

  /**
   * Captures the value here.
   *
   * @param version number of writes of the variable so far
   */
  public Snapshot(BodyEmitter emitter, Register variable, int version) {
    this.emitter = emitter;
    this.variable = variable;
    this.version = version;
    this.scope = emitter.scope();
    this.before = scope.statements.isEmpty() ? null : scope.statements.getLast();
    this.source = BodyEmitter.here();
  }

  /** Returns the register that holds the value at the current point of the kernel. */
  @Override
  public Register get() {
    // a later statement of a loop's body may write the variable before this use runs again
    boolean unchanged =
        emitter.version(variable) == version && emitter.scope().isInSameIterationOf(scope);
    if (unchanged) {
      return variable;
    }
    if (copy == null) {
      copy = emitter.copy(variable, scope, before, source);
    }
    return copy;
  }
}
