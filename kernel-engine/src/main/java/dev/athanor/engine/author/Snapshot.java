package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The value of a variable at one point of the kernel. Until the variable may change, its own
 * register serves; later uses read a copy, which is then inserted at that point. So a value costs
 * an instruction only where it outlives a change.
 */
final class Snapshot implements Supplier<Register> {
  private final BodyWriter writer;
  private final Register variable;
  private final int version;
  private final Scope scope;
  private final @Nullable Statement before;
  private final Source source;
  private @Nullable Register copy;

  /**
   * The value here.
   *
   * @param version how often the variable has been written so far
   */
  public Snapshot(BodyWriter writer, Register variable, int version) {
    this.writer = writer;
    this.variable = variable;
    this.version = version;
    this.scope = writer.scope();
    this.before = scope.statements.isEmpty() ? null : scope.statements.getLast();
    this.source = BodyWriter.here();
  }

  /** Returns the register that has the value at the current point of the kernel. */
  @Override
  public Register get() {
    // a later statement of a loop's body may change the variable before this use runs again
    boolean unchanged =
        writer.version(variable) == version && writer.scope().isInSameIterationOf(scope);
    if (unchanged) {
      return variable;
    }
    if (copy == null) {
      copy = writer.copy(variable, scope, before, source);
    }
    return copy;
  }
}
