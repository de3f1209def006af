package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Operand.Immediate;

/** Literals: how they are written (PTX ISA 4.5) and which operands they suit. */
public final class Literals {

  private Literals() {}

  /**
   * Reads a literal as it stands in text: integers as {@link Type#S64} or, where they need it,
   * {@link Type#U64}.
   *
   * @throws NumberFormatException when it needs more than 64 bits
   */
  public static Immediate parse(String text) {
    if (text.endsWith("U")) {
      return new Immediate(Type.U64, parse(text.substring(0, text.length() - 1)).bits());
    }
    var digits = text;
    if (digits.length() > 1 && digits.charAt(0) == '0') {
      var rest = digits.substring(2);
      switch (Character.toLowerCase(digits.charAt(1))) {
        case 'f' -> {
          return new Immediate(Type.F32, Long.parseUnsignedLong(rest, 16));
        }
        case 'd' -> {
          return new Immediate(Type.F64, Long.parseUnsignedLong(rest, 16));
        }
        case 'x' -> {
          return integer(Long.parseUnsignedLong(rest, 16));
        }
        case 'b' -> {
          return integer(Long.parseUnsignedLong(rest, 2));
        }
        default -> {
          if (!isDecimalFraction(digits)) {
            return integer(Long.parseUnsignedLong(digits, 8));
          }
        }
      }
    }
    return isDecimalFraction(digits)
        ? Immediate.of(Double.parseDouble(digits))
        : integer(Long.parseUnsignedLong(digits));
  }

  private static boolean isDecimalFraction(String digits) {
    return digits.chars().anyMatch(c -> c == '.' || c == 'e' || c == 'E');
  }

  private static Immediate integer(long bits) {
    return new Immediate(bits < 0 ? Type.U64 : Type.S64, bits);
  }

  public static Immediate negate(Immediate value) {
    return switch (value.type()) {
      case F32 -> new Immediate(Type.F32, value.bits() ^ 0x8000_0000L);
      case F64 -> new Immediate(Type.F64, value.bits() ^ Long.MIN_VALUE);
      default -> new Immediate(value.type(), -value.bits());
    };
  }

  /**
   * A literal as an operand of a type. An integer is truncated to the width of an integer or bit
   * type, as ptxas does; for a predicate any integer but 0 is true and becomes 1. A floating-point
   * literal is rounded to its floating-point type, and suits bit types of its own width.
   *
   * @throws IllegalArgumentException when it does not suit
   */
  public static Immediate as(Type type, Immediate given) {
    if (given.type() == type) {
      return given;
    }
    boolean isFloat = given.type().kind() == Type.Kind.FLOAT;
    if (type == Type.PRED) {
      if (isFloat) {
        throw new IllegalArgumentException(
            given + " is no .pred literal; write 0 for false or 1 for true");
      }
      return new Immediate(type, given.bits() == 0 ? 0 : 1);
    }
    if (type.kind() == Type.Kind.FLOAT) {
      if (type == Type.F32 && given.type() == Type.F64) {
        return Immediate.of((float) Double.longBitsToDouble(given.bits()));
      }
      if (type == Type.F64 && given.type() == Type.F32) {
        return Immediate.of((double) Float.intBitsToFloat((int) given.bits()));
      }
      throw new IllegalArgumentException(
          "%s is no .%s literal; write it as %s"
              .formatted(
                  given,
                  type.word(),
                  type == Type.F32 ? "0f3F800000 or 1.0" : "0d3FF0000000000000 or 1.0"));
    }
    if (isFloat) {
      if (given.type().bits() == type.bits() && type.kind() == Type.Kind.BITS) {
        return new Immediate(type, given.bits());
      }
      throw new IllegalArgumentException("%s is no .%s literal".formatted(given, type.word()));
    }
    long value = given.bits();
    int unused = 64 - type.bits();
    return new Immediate(
        type,
        type.kind() == Type.Kind.SIGNED ? value << unused >> unused : value << unused >>> unused);
  }
}
