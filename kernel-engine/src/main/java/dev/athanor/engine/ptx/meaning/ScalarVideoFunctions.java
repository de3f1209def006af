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
 */
final class ScalarVideoFunctions {

  private static final int WORD = 32;

  private ScalarVideoFunctions() {}

  static int addScalars(int a, int b, Modifiers modifiers) {
    return finish(first(a, modifiers) + second(b, modifiers), 0, modifiers);
  }

  static int addScalars(int a, int b, int c, Modifiers modifiers) {
    return finish(first(a, modifiers) + second(b, modifiers), c, modifiers);
  }

  static int subtractScalars(int a, int b, Modifiers modifiers) {
    return finish(first(a, modifiers) - second(b, modifiers), 0, modifiers);
  }

  static int subtractScalars(int a, int b, int c, Modifiers modifiers) {
    return finish(first(a, modifiers) - second(b, modifiers), c, modifiers);
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
    return finish(shifted(a, b, modifiers), 0, modifiers);
  }

  static int shiftScalarLeft(int a, int b, int c, Modifiers modifiers) {
    return finish(shifted(a, b, modifiers), c, modifiers);
  }

  /**
   * Shifts left. A shift by 32 bits could overflow a long, so it clamps the value to 31 bits, which
   * saturates alike.
   */
  private static long shifted(int a, int b, Modifiers modifiers) {
    int distance = distance(b, modifiers);
    long value = first(a, modifiers);
    return (distance == 32 ? Math.min(value, Integer.MAX_VALUE) : value) << distance;
  }

  static int shiftScalarRight(int a, int b, Modifiers modifiers) {
    return finish(first(a, modifiers) >> distance(b, modifiers), 0, modifiers);
  }

  static int shiftScalarRight(int a, int b, int c, Modifiers modifiers) {
    return finish(first(a, modifiers) >> distance(b, modifiers), c, modifiers);
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
    return combine(holds ? 1 : 0, c, false, modifiers);
  }

  /**
   * Returns {@code a * b + c}, with the product or {@code c} optionally negated; {@code .po} adds
   * one, {@code .shr7} and {@code .shr15} scale the sum (PTX ISA 9.7.18.1.3). Sums have up to 66
   * bits, and {@code .sat} considers all of them.
   */
  static int multiplyAddScalars(int a, int b, int c, Modifiers modifiers) {
    boolean negatedProduct = isNegated("a", modifiers) != isNegated("b", modifiers);
    boolean negatedSum = isNegated("c", modifiers);
    boolean signed =
        isSigned(modifiers.types().get(1))
            || isSigned(modifiers.types().get(2))
            || negatedProduct
            || negatedSum;
    long left = first(a, modifiers);
    long right = second(b, modifiers);
    long low = left * right;
    long high = Math.multiplyHigh(left, right);
    if (negatedProduct) {
      high = low == 0 ? -high : ~high;
      low = -low;
    }
    // negation is complement plus one; the manual adds that one below as well
    int addend = negatedSum ? ~c : c;
    long extended = signed ? addend : Integer.toUnsignedLong(addend);
    long sum = low + extended;
    high += (extended >> 63) + (Long.compareUnsigned(sum, low) < 0 ? 1 : 0);
    if (negatedSum || modifiers.has("po")) {
      sum++;
      high += sum == 0 ? 1 : 0;
    }
    int scale = modifiers.has("shr7") ? 7 : modifiers.has("shr15") ? 15 : 0;
    if (scale > 0) {
      sum = (sum >>> scale) | (high << -scale);
      high >>= scale;
    }
    return modifiers.has("sat") ? saturated(high, sum, signed) : (int) sum;
  }

  /** Clamps 128 bits to the range of 32. */
  private static int saturated(long high, long low, boolean signed) {
    if (high != low >> 63) {
      return high < 0 ? (signed ? Integer.MIN_VALUE : 0) : (signed ? Integer.MAX_VALUE : -1);
    }
    return (int) clamped(low, WORD, signed);
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
    return isSigned(type) ? (bits << unused) >> unused : (bits << unused) >>> unused;
  }

  private static int finish(long value, int c, Modifiers modifiers) {
    boolean signed = isSigned(modifiers.types().getFirst());
    long result =
        modifiers.has("sat") ? clamped(value, width(element("d", modifiers)), signed) : value;
    return combine((int) result, c, signed, modifiers);
  }

  private static int combine(int value, int c, boolean signed, Modifiers modifiers) {
    if (modifiers.has("add")) {
      return value + c;
    }
    if (modifiers.has("min") || modifiers.has("max")) {
      int order = signed ? Integer.compare(value, c) : Integer.compareUnsigned(value, c);
      return (order < 0) == modifiers.has("min") ? value : c;
    }
    var part = element("d", modifiers);
    if (part.isEmpty()) {
      return value;
    }
    int mask = ((1 << width(part)) - 1) << offset(part);
    return ((value << offset(part)) & mask) | (c & ~mask);
  }

  private static long clamped(long value, int bits, boolean signed) {
    long greatest = (1L << (signed ? bits - 1 : bits)) - 1;
    return Math.clamp(value, signed ? ~greatest : 0, greatest);
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
