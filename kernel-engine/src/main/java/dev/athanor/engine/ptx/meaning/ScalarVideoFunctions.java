package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;

/**
 * Lane functions of scalar video instructions (PTX ISA 9.7.18.1). Sources are bytes, halves or
 * whole registers, extended by type. The result is computed without overflow, saturated with {@code
 * .sat} to the range of its destination, and then combined with {@code c} by a second operation or
 * merged into a byte or half of it.
 *
 * <p>GPUs since Volta have no such instructions. The code that ptxas 13.0 substitutes deviates from
 * the manual where it saturates and where it compares in the second operation; the functions return
 * what it returned on an H200.
 */
final class ScalarVideoFunctions {

  private static final int WORD = 32;

  private ScalarVideoFunctions() {}

  static int addScalars(int a, int b, Modifiers modifiers) {
    return finishSum(first(a, modifiers) + second(b, modifiers), 0, modifiers);
  }

  static int addScalars(int a, int b, int c, Modifiers modifiers) {
    return finishSum(first(a, modifiers) + second(b, modifiers), c, modifiers);
  }

  static int subtractScalars(int a, int b, Modifiers modifiers) {
    return finishSum(first(a, modifiers) - second(b, modifiers), 0, modifiers);
  }

  static int subtractScalars(int a, int b, int c, Modifiers modifiers) {
    return finishSum(first(a, modifiers) - second(b, modifiers), c, modifiers);
  }

  static int scalarDistance(int a, int b, Modifiers modifiers) {
    return finish(Math.abs(first(a, modifiers) - second(b, modifiers)), 0, modifiers);
  }

  static int scalarDistance(int a, int b, int c, Modifiers modifiers) {
    return finish(Math.abs(first(a, modifiers) - second(b, modifiers)), c, modifiers);
  }

  static int minOfScalars(int a, int b, Modifiers modifiers) {
    return finish(Math.min(first(a, modifiers), second(b, modifiers)), 0, modifiers);
  }

  static int minOfScalars(int a, int b, int c, Modifiers modifiers) {
    return finish(Math.min(first(a, modifiers), second(b, modifiers)), c, modifiers);
  }

  static int maxOfScalars(int a, int b, Modifiers modifiers) {
    return finish(Math.max(first(a, modifiers), second(b, modifiers)), 0, modifiers);
  }

  static int maxOfScalars(int a, int b, int c, Modifiers modifiers) {
    return finish(Math.max(first(a, modifiers), second(b, modifiers)), c, modifiers);
  }

  static int shiftScalarLeft(int a, int b, Modifiers modifiers) {
    return shiftScalarLeft(a, b, 0, modifiers);
  }

  static int shiftScalarLeft(int a, int b, int c, Modifiers modifiers) {
    return finishShift(first(a, modifiers) << distance(b, modifiers), c, modifiers);
  }

  static int shiftScalarRight(int a, int b, Modifiers modifiers) {
    return shiftScalarRight(a, b, 0, modifiers);
  }

  static int shiftScalarRight(int a, int b, int c, Modifiers modifiers) {
    return finishShift(first(a, modifiers) >> distance(b, modifiers), c, modifiers);
  }

  /** Returns the shift distance, wrapped to five bits or clamped to 32. */
  private static int distance(int b, Modifiers modifiers) {
    long distance = second(b, modifiers);
    return (int) (modifiers.has("wrap") ? distance & 31 : Math.min(distance, 32));
  }

  static int compareScalars(int a, int b, Comparison comparison, Modifiers modifiers) {
    return compareScalars(a, b, 0, comparison, modifiers);
  }

  static int compareScalars(int a, int b, int c, Comparison comparison, Modifiers modifiers) {
    long left = extend(a, "a", modifiers.types().get(0), modifiers);
    long right = extend(b, "b", modifiers.types().get(1), modifiers);
    boolean holds =
        switch (comparison) {
          case EQ -> left == right;
          case NE -> left != right;
          case LT -> left < right;
          case LE -> left <= right;
          case GT -> left > right;
          case GE -> left >= right;
          default ->
              throw new IllegalArgumentException(
                  "comparison not supported by scalar video instructions: " + comparison);
        };
    return combine(holds ? 1 : 0, c, isSigned(modifiers.types().getFirst()), modifiers);
  }

  /**
   * Returns {@code a * b + c}, with the product or {@code c} optionally negated; {@code .po} adds
   * one, {@code .shr7} and {@code .shr15} scale the sum (PTX ISA 9.7.18.1.3). Whole registers are
   * signed regardless of their types, which only select the range of {@code .sat}.
   */
  static int multiplyAddScalars(int a, int b, int c, Modifiers modifiers) {
    boolean negatedProduct = isNegated("a", modifiers) != isNegated("b", modifiers);
    boolean negatedSum = isNegated("c", modifiers);
    long product = factor(a, "a", 1, modifiers) * factor(b, "b", 2, modifiers);
    long sum =
        (negatedProduct ? -product : product)
            + (negatedSum ? -(long) c : c)
            + (modifiers.has("po") ? 1 : 0);
    int scale = modifiers.has("shr7") ? 7 : modifiers.has("shr15") ? 15 : 0;
    if (!modifiers.has("sat")) {
      return (int) (sum >> scale);
    }
    boolean signed =
        isSigned(modifiers.types().get(1))
            || isSigned(modifiers.types().get(2))
            || negatedProduct
            || negatedSum;
    return (int) clamped(signed ? sum >> scale : sum >>> scale, WORD, signed);
  }

  /** Returns a part of a register, extended by type, or a whole register, which is signed. */
  private static long factor(int word, String operand, int type, Modifiers modifiers) {
    return element(operand, modifiers).isEmpty()
        ? word
        : extend(word, operand, modifiers.types().get(type), modifiers);
  }

  private static boolean isNegated(String operand, Modifiers modifiers) {
    return modifiers.has(operand + ":" + Modifier.Part.NEGATED);
  }

  private static long first(int a, Modifiers modifiers) {
    return extend(a, "a", modifiers.types().get(1), modifiers);
  }

  private static long second(int b, Modifiers modifiers) {
    return extend(b, "b", modifiers.types().get(2), modifiers);
  }

  /** Returns the selected part of a source, extended by type. */
  private static long extend(int word, String operand, Type type, Modifiers modifiers) {
    var part = element(operand, modifiers);
    long bits = Integer.toUnsignedLong(word) >>> offset(part);
    int unused = Long.SIZE - width(part);
    return isSigned(type) ? signExtended(bits, width(part)) : (bits << unused) >>> unused;
  }

  private static int finish(long value, int c, Modifiers modifiers) {
    return combine(saturated(value, modifiers), c, isSigned(modifiers), modifiers);
  }

  /** Combines the low 32 bits of a sum, sign-extended. */
  private static int finishSum(long sum, int c, Modifiers modifiers) {
    long value = signExtended(saturated(sum, modifiers), WORD);
    return combine(value, c, isSigned(modifiers), modifiers);
  }

  /**
   * Saturates the low 34 bits of a shifted number to a whole register, even for a byte or half, and
   * combines the result, sign-extended.
   */
  private static int finishShift(long shifted, int c, Modifiers modifiers) {
    boolean signed = isSigned(modifiers);
    long value = shifted;
    if (modifiers.has("sat")) {
      value = signExtended(clamped(signExtended(shifted, WORD + 2), WORD, signed), WORD);
    }
    return combine(value, c, signed, modifiers);
  }

  private static long signExtended(long value, int bits) {
    int unused = Long.SIZE - bits;
    return (value << unused) >> unused;
  }

  /** Saturates; whole unsigned registers only at zero, bytes and halves only at the maximum. */
  private static long saturated(long value, Modifiers modifiers) {
    if (!modifiers.has("sat")) {
      return value;
    }
    var part = element("d", modifiers);
    boolean signed = isSigned(modifiers);
    if (part.isEmpty()) {
      return signed ? clamped(value, WORD, true) : Math.max(value, 0);
    }
    long greatest = greatest(width(part), signed);
    return Long.compareUnsigned(value, greatest) > 0 ? greatest : value;
  }

  /** Adds, compares with or inserts a number, which the second operation compares as 64 bits. */
  private static int combine(long value, int c, boolean signed, Modifiers modifiers) {
    if (modifiers.has("add")) {
      return (int) value + c;
    }
    if (modifiers.has("min") || modifiers.has("max")) {
      int order =
          signed ? Long.compare(value, c) : Long.compareUnsigned(value, Integer.toUnsignedLong(c));
      return (order < 0) == modifiers.has("min") ? (int) value : c;
    }
    var part = element("d", modifiers);
    if (part.isEmpty()) {
      return (int) value;
    }
    int mask = ((1 << width(part)) - 1) << offset(part);
    // ptxas takes the upper half from the upper half of the value
    int inserted = part.equals("h1") ? (int) value : (int) value << offset(part);
    return (inserted & mask) | (c & ~mask);
  }

  private static long clamped(long value, int bits, boolean signed) {
    long greatest = greatest(bits, signed);
    return Math.clamp(value, signed ? ~greatest : 0, greatest);
  }

  private static long greatest(int bits, boolean signed) {
    return (1L << (signed ? bits - 1 : bits)) - 1;
  }

  /** Returns whether the destination is signed. */
  private static boolean isSigned(Modifiers modifiers) {
    return isSigned(modifiers.types().getFirst());
  }

  private static boolean isSigned(Type type) {
    return type.kind() == Type.Kind.SIGNED;
  }

  /**
   * Returns the selected part of an operand, such as {@code b1} or {@code h0}; empty = all of it.
   */
  private static String element(String operand, Modifiers modifiers) {
    for (var part : modifiers.parts(operand)) {
      if (!part.part().equals(Modifier.Part.NEGATED)) {
        return part.part();
      }
    }
    return "";
  }

  private static int width(String element) {
    return element.isEmpty() ? WORD : element.charAt(0) == 'b' ? 8 : 16;
  }

  private static int offset(String element) {
    return element.isEmpty() ? 0 : (element.charAt(1) - '0') * width(element);
  }
}
