package dev.athanor.engine.lift.ir;

import java.util.Locale;

/**
 * A memory access.
 *
 * @param offset bytes added to the address
 * @param count number of neighboring elements: 1, 2 or 4. A load of more than one is a vector load
 *     of type {@link ValueType#VOID}, whose results are values of {@link Op#PART}; a store has as
 *     many values.
 * @param readOnly whether nothing writes the memory while the kernel runs
 */
public record Access(Space space, Element element, long offset, int count, boolean readOnly) {

  /** A state space. */
  public enum Space {
    GLOBAL,
    SHARED,
    /** The memory of a thread. */
    LOCAL,
    /** Constants of the module. */
    CONST;

    /** Returns the type of an address. */
    public ValueType address() {
      return this == GLOBAL || this == CONST ? ValueType.LONG : ValueType.INT;
    }

    /** Returns the word of PTX. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  public Access(Space space, Element element) {
    this(space, element, 0, 1, false);
  }

  /** Returns the access moved by a number of bytes. */
  public Access plus(long bytes) {
    return new Access(space, element, offset + bytes, count, readOnly);
  }

  /** Returns the access to memory that nothing writes. */
  public Access asReadOnly() {
    return new Access(space, element, offset, count, true);
  }

  /** Returns the access to this element and the next ones, {@code elements} in all. */
  public Access vector(int elements) {
    return new Access(space, element, offset, elements, readOnly);
  }
}
