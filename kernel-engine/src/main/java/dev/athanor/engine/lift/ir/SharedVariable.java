package dev.athanor.engine.lift.ir;

/**
 * A shared array of a kernel.
 *
 * @param name unique name
 * @param length number of elements; {@link #DYNAMIC} if the launch determines it
 */
public record SharedVariable(String name, Element element, int length) {
  public static final int DYNAMIC = -1;
}
