package dev.athanor.engine.lift.ir;

/**
 * A parameter of the Java method.
 *
 * @param name as in Java
 * @param element type of the number or of the elements; {@link Element#BYTE} for a segment
 */
public record Argument(String name, Kind kind, Element element) {

  /** What is passed. */
  public enum Kind {
    SCALAR,
    ARRAY,
    SEGMENT
  }

  /** Returns the name of the kernel parameter that holds the number or the address. */
  public String parameterName() {
    return PtxNames.encode(name);
  }

  /** Returns the name of the kernel parameter that holds the array's length, or its bytes. */
  public String lengthName() {
    return parameterName() + "$length";
  }
}
