package dev.athanor.engine.lift.ir;

import dev.athanor.engine.lift.ir.Access.Space;
import java.lang.reflect.Array;
import org.jspecify.annotations.Nullable;

/**
 * An array that a kernel declares, in shared, local or constant memory.
 *
 * @param name unique name
 * @param length number of elements; {@link #DYNAMIC} if the launch determines it
 * @param contents a constant array of Java; null in other memories
 */
public record ArrayVariable(
    Space space, String name, Element element, int length, @Nullable Object contents) {
  public static final int DYNAMIC = -1;

  /** Returns the size, if the launch does not determine it. */
  public long bytes() {
    return length == DYNAMIC ? 0 : (long) length * element.bytes();
  }

  /** Returns an element of a constant array. */
  public Value constant(int index) {
    return switch (Array.get(contents, index)) {
      case Boolean b -> Value.constant(b ? 1 : 0);
      case Character c -> Value.constant(c.charValue());
      case Long n -> Value.constant(n.longValue());
      case Float n -> Value.constant(ValueType.FLOAT, n);
      case Double n -> Value.constant(ValueType.DOUBLE, n);
      case Number n -> Value.constant(n.intValue());
      default -> throw new IllegalStateException("an array of numbers");
    };
  }
}
