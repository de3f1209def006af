package dev.athanor.engine.lift.ir;

import dev.athanor.engine.lift.ir.Access.Space;

/**
 * An array that a kernel declares, in shared or local memory.
 *
 * @param name unique name
 * @param length number of elements; {@link #DYNAMIC} if the launch determines it
 */
public record ArrayVariable(Space space, String name, Element element, int length) {
  public static final int DYNAMIC = -1;

  /** Returns the size, if the launch does not determine it. */
  public long bytes() {
    return length == DYNAMIC ? 0 : (long) length * element.bytes();
  }
}
