package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Operand.Immediate;

/** Literals: how they are written (PTX ISA 4.5) and which operands they suit. */
final class Literals {

  private Literals() {}

  /**
   * Reads a literal as it stands in text: integers as {@link Type#S64} or, where they need it,
   * {@link Type#U64}.
   *
   * @throws NumberFormatException when it needs more than 64 bits
   */
  static Immediate parse(String text) {
    var digits = text.endsWith("U") ? text.substring(0, text.length() - 1) : text;
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
          if (digits.indexOf('.') < 0) {
            return integer(Long.parseUnsignedLong(digits, 8));
          }
        }
      }
    }
    return digits.indexOf('.') >= 0
        ? Immediate.of(Double.parseDouble(digits))
        : integer(Long.parseUnsignedLong(digits));
  }

  private static Immediate integer(long bits) {
    return new Immediate(bits < 0 ? Type.U64 : Type.S64, bits);
  }

  static Immediate negate(Immediate value) {
    return switch (value.type()) {
      case F32 -> new Immediate(Type.F32, value.bits() ^ 0x8000_0000L);
      case F64 -> new Immediate(Type.F64, value.bits() ^ Long.MIN_VALUE);
      default -> new Immediate(Type.S64, -value.bits());
    };
  }

  /**
   * A literal as an operand of a type. Integers may be given for integer and bit types where their
   * value fits either sign's range, and for predicates, where any integer but 0 is true and becomes
   * 1; floating-point literals for their own type, bit types of their width, and a decimal one for
   * f32.
   *
   * @throws IllegalArgumentException when it does not suit
   */
  static Immediate as(Type type, Immediate given) {
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
    int bits = type.bits();
    if (bits < 64
        && ((given.type() == Type.U64 && value < 0)
            || value < -(1L << (bits - 1))
            || value >= 1L << bits)) {
      throw new IllegalArgumentException("%s does not fit .%s".formatted(given, type.word()));
    }
    int unused = 64 - bits;
    return new Immediate(
        type,
        type.kind() == Type.Kind.SIGNED ? value << unused >> unused : value << unused >>> unused);
  }
}
