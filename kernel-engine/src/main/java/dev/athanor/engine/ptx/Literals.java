package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Operand.Immediate;

/** The notation of literals (PTX ISA 4.5) and the operands that accept them. */
public final class Literals {
  private Literals() {}

  /**
   * Parses a literal. Integers are {@link Type#S64}, or {@link Type#U64} if they need it.
   *
   * @throws NumberFormatException if the literal exceeds 64 bits
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
   * Converts a literal to an operand of a type. Integers are truncated to the width of an integer
   * or bit type, like in ptxas; a predicate is true for any nonzero integer. Floating-point
   * literals are rounded to floating-point types and fit bit types of equal width.
   *
   * @throws IllegalArgumentException if the literal does not fit the type
   */
  public static Immediate convert(Type type, Immediate given) {
    if (given.type() == type) {
      return given;
    }
    boolean isFloat = given.type().kind() == Type.Kind.FLOAT;
    if (type == Type.PRED) {
      if (isFloat) {
        throw new IllegalArgumentException(
            given + " is not a .pred literal; write 0 for false or 1 for true");
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
          "%s is not a .%s literal; write it as %s"
              .formatted(
                  given,
                  type.word(),
                  type == Type.F32 ? "0f3F800000 or 1.0" : "0d3FF0000000000000 or 1.0"));
    }
    if (isFloat) {
      if (given.type().bits() == type.bits() && type.kind() == Type.Kind.BITS) {
        return new Immediate(type, given.bits());
      }
      throw new IllegalArgumentException("%s is not a .%s literal".formatted(given, type.word()));
    }
    long value = given.bits();
    int unused = 64 - type.bits();
    return new Immediate(
        type,
        type.kind() == Type.Kind.SIGNED ? value << unused >> unused : value << unused >>> unused);
  }
}
