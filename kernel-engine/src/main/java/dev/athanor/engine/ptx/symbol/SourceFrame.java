package dev.athanor.engine.ptx.symbol;

import dev.athanor.engine.ptx.Source;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A call of the source language at an instruction. Inlined calls have frames of their own.
 *
 * @param method name with its class, such as {@code Saxpy.saxpy}
 * @param call number of the call in the kernel; 0 for the kernel itself
 * @param source line that the call is at
 * @param variables those that have values here
 * @param caller null for the kernel itself
 */
public record SourceFrame(
    String method,
    int call,
    Source source,
    List<SourceVariable> variables,
    @Nullable SourceFrame caller) {
  public SourceFrame {
    variables = List.copyOf(variables);
  }

  /** Returns whether this frame belongs to a call or was called from it. */
  public boolean isWithin(int other) {
    return call == other || (caller != null && caller.isWithin(other));
  }

  /** Returns whether a frame that this one was called from is at the same line of the same call. */
  public boolean isCalledFrom(SourceFrame other) {
    return caller != null
        && ((caller.call == other.call && caller.source.equals(other.source))
            || caller.isCalledFrom(other));
  }

  /** Returns the variable, component or array length of a name such as {@code point.x}. */
  public Optional<SourceVariable> find(String name) {
    int dot = name.lastIndexOf('.');
    return dot < 0
        ? variables.stream().filter(each -> each.name().equals(name)).findFirst()
        : find(name.substring(0, dot)).flatMap(each -> each.component(name.substring(dot + 1)));
  }
}
