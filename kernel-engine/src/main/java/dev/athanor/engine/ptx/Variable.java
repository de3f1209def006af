package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Modifier.Space;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A variable of a module, or one that each thread has for itself (PTX ISA 5.4).
 *
 * @param linkage {@code extern}, {@code visible}, {@code weak}, {@code common}, or empty
 * @param space where it lies; {@link Space#PARAM} within a function is what calls hand over
 * @param alignment in bytes, a power of two
 * @param count its elements; {@link #SCALAR} when it is no array, {@link #OPEN} when another module
 *     says how many
 * @param initial the first elements; the others are zero
 */
public record Variable(
    String linkage,
    Space space,
    int alignment,
    Type type,
    String name,
    int count,
    List<Value> initial) {

  /** The count of a variable that is no array. */
  public static final int SCALAR = 0;

  /** The count of an array that another module defines. */
  public static final int OPEN = -1;

  public Variable {
    initial = List.copyOf(initial);
  }

  /**
   * An element's first value: a number, or the address of a variable or function.
   *
   * @param symbol whose address it is; empty = a number
   * @param generic whether a generic address is meant
   * @param number the value, or the offset from the address
   * @param mask the bits of the address that are meant, which are moved to the lowest; {@link
   *     #WHOLE} = all
   */
  public record Value(String symbol, boolean generic, Operand.Immediate number, long mask) {

    /** The mask of a whole address. */
    public static final long WHOLE = -1;

    /** A number, or a whole address. */
    public Value(String symbol, boolean generic, Operand.Immediate number) {
      this(symbol, generic, number, WHOLE);
    }

    /** The value, where the symbol stands for an address. */
    public long bits(long address) {
      return mask == 0
          ? 0
          : ((address + number.bits()) & mask) >>> Long.numberOfTrailingZeros(mask);
    }

    @Override
    public String toString() {
      if (symbol.isEmpty()) {
        return number.toString();
      }
      var base = generic ? "generic(" + symbol + ")" : symbol;
      var whole = number.bits() == 0 ? base : base + "+" + number;
      return mask == WHOLE ? whole : "0x%X(%s)".formatted(mask, whole);
    }
  }

  /** Its size. */
  public long bytes() {
    return (long) Math.max(1, count) * type.bytes();
  }

  /** The declaration. */
  @Override
  public String toString() {
    return (linkage.isEmpty() ? "" : "." + linkage + " ")
        + ".%s .align %d .%s %s".formatted(space.word(), alignment, type.word(), name)
        + (count == SCALAR ? "" : count == OPEN ? "[]" : "[" + count + "]")
        + (initial.isEmpty()
            ? ""
            : initial.stream()
                .map(Value::toString)
                .collect(
                    Collectors.joining(
                        ", ", count == SCALAR ? " = " : " = {", count == SCALAR ? "" : "}")))
        + ";";
  }
}
