package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Modifier.Space;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A variable of a module or of each thread (PTX ISA 5.4).
 *
 * @param linkage {@code extern}, {@code visible}, {@code weak}, {@code common}, or empty
 * @param space state space; {@link Space#PARAM} inside a function is for calls
 * @param alignment alignment in bytes, a power of two
 * @param count number of elements; {@link #SCALAR} for a scalar, {@link #UNSIZED} if another module
 *     defines it
 * @param initializers values of the first elements; the rest is zero
 */
public record Variable(
    String linkage,
    Space space,
    int alignment,
    Type type,
    String name,
    int count,
    List<Initializer> initializers) {
  /** Count of a scalar. */
  public static final int SCALAR = 0;

  /** Count of an array that another module defines. */
  public static final int UNSIZED = -1;

  public Variable {
    initializers = List.copyOf(initializers);
  }

  /**
   * The initial value of an element: a number, or the address of a variable or function.
   *
   * @param symbol symbol whose address it is; empty for a number
   * @param generic whether the address is generic
   * @param number the number, or the offset from the address
   * @param mask bits of the address to take, shifted to the lowest; {@link #WHOLE} = all
   */
  public record Initializer(String symbol, boolean generic, Operand.Immediate number, long mask) {
    /** The mask of a whole address. */
    public static final long WHOLE = -1;

    /** Creates a number or a whole address. */
    public Initializer(String symbol, boolean generic, Operand.Immediate number) {
      this(symbol, generic, number, WHOLE);
    }

    /** Returns the value for an address of the symbol. */
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

  /** Returns the size in bytes. */
  public long bytes() {
    return (long) Math.max(1, count) * type.bytes();
  }

  /** Returns the declaration. */
  @Override
  public String toString() {
    return (linkage.isEmpty() ? "" : "." + linkage + " ")
        + ".%s .align %d .%s %s".formatted(space.word(), alignment, type.word(), name)
        + (count == SCALAR ? "" : count == UNSIZED ? "[]" : "[" + count + "]")
        + (initializers.isEmpty()
            ? ""
            : initializers.stream()
                .map(Initializer::toString)
                .collect(
                    Collectors.joining(
                        ", ", count == SCALAR ? " = " : " = {", count == SCALAR ? "" : "}")))
        + ";";
  }
}
