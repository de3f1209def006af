package dev.athanor.engine.lift.ir;

/**
 * An argument of a kernel: a parameter of the Java method, or a component of one that is a record.
 *
 * @param name of the parameter, and the path to the component in the record
 * @param element type of the number or of the elements; {@link Element#BYTE} for a segment
 */
public record Argument(String name, Kind kind, ElementType element) {

  /**
   * The most elements of an array. Indices of longer arrays plus small literals would overflow an
   * int unnoticed.
   */
  public static final long MAX_LENGTH = (1L << 31) - (1L << 20);

  /** What is passed. */
  public enum Kind {
    SCALAR,
    ARRAY,
    SEGMENT
  }

  /** Returns the type of the number of a scalar. */
  public Element number() {
    return (Element) element;
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
