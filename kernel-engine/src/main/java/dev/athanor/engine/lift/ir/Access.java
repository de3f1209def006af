package dev.athanor.engine.lift.ir;

/**
 * A memory access.
 *
 * @param offset bytes added to the address
 * @param readOnly whether nothing writes the memory while the kernel runs
 */
public record Access(Space space, Element element, long offset, boolean readOnly) {

  /** A state space. */
  public enum Space {
    GLOBAL,
    SHARED;

    /** Returns the type of an address. */
    public ValueType address() {
      return this == GLOBAL ? ValueType.LONG : ValueType.INT;
    }
  }

  public Access(Space space, Element element) {
    this(space, element, 0, false);
  }

  /** Returns the access moved by a number of bytes. */
  public Access plus(long bytes) {
    return new Access(space, element, offset + bytes, readOnly);
  }

  /** Returns the access to memory that nothing writes. */
  public Access asReadOnly() {
    return new Access(space, element, offset, true);
  }
}
