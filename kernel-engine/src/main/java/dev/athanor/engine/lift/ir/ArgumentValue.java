package dev.athanor.engine.lift.ir;

/**
 * A value that a launch passes for an argument: a number, or the address or the length of memory.
 */
public record ArgumentValue(Argument argument, Part part) {

  /** What the value is of its argument. */
  public enum Part {
    NUMBER,
    ADDRESS,
    /** The elements of an array or the bytes of a segment: never negative. */
    LENGTH
  }

  /** Returns the name of the kernel parameter that holds the value. */
  public String parameterName() {
    return part == Part.LENGTH ? argument.lengthName() : argument.parameterName();
  }

  @Override
  public String toString() {
    return parameterName();
  }
}
