package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Source;

/**
 * A place where a thread may fault.
 *
 * @param array the name of the array or segment; empty if there is none
 * @param count the number of elements or bytes that are accessed from an index on
 */
public record Site(Kind kind, String array, int count, Source source) {

  /** What is checked. */
  public enum Kind {
    /** That elements are in an array or segment. */
    ELEMENTS,
    /** That bytes are in a segment. */
    BYTES,
    /** That the divisor of an integer division is not zero. */
    DIVISION,
    /** That the bounds of {@code Math.clamp} are in order. */
    CLAMP
  }

  /** Creates a place where no memory is accessed. */
  public static Site of(Kind kind, Source source) {
    return new Site(kind, "", 0, source);
  }
}
