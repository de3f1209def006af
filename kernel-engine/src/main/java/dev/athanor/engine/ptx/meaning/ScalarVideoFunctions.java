package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;

/**
 * The lane functions of the scalar video instructions (PTX ISA 9.7.18.1). Sources are bytes, halves
 * or whole registers, extended by their types; the result is computed without overflow, saturated
 * to the range of what it replaces where {@code .sat} says so, and then combined with {@code c} by
 * a second operation, or put in the place of a byte or half of it.
 */
final class ScalarVideoFunctions {

  private static final int WORD = 32;

  private ScalarVideoFunctions() {}

  static int addScalars(int a, int b, Modifiers how) {
    return finished(first(a, how) + second(b, how), 0, how);
  }

  static int addScalars(int a, int b, int c, Modifiers how) {
    return finished(first(a, how) + second(b, how), c, how);
  }

  static int subtractScalars(int a, int b, Modifiers how) {
    return finished(first(a, how) - second(b, how), 0, how);
  }

  static int subtractScalars(int a, int b, int c, Modifiers how) {
    return finished(first(a, how) - second(b, how), c, how);
  }

  static int scalarDistance(int a, int b, Modifiers how) {
    return finished(Math.abs(first(a, how) - second(b, how)), 0, how);
  }

  static int scalarDistance(int a, int b, int c, Modifiers how) {
    return finished(Math.abs(first(a, how) - second(b, how)), c, how);
  }

  static int minOfScalars(int a, int b, Modifiers how) {
    return finished(Math.min(first(a, how), second(b, how)), 0, how);
  }

  static int minOfScalars(int a, int b, int c, Modifiers how) {
    return finished(Math.min(first(a, how), second(b, how)), c, how);
  }

  static int maxOfScalars(int a, int b, Modifiers how) {
    return finished(Math.max(first(a, how), second(b, how)), 0, how);
  }

  static int maxOfScalars(int a, int b, int c, Modifiers how) {
    return finished(Math.max(first(a, how), second(b, how)), c, how);
  }

  static int shiftScalarLeft(int a, int b, Modifiers how) {
    return finished(shifted(a, b, how), 0, how);
  }

  static int shiftScalarLeft(int a, int b, int c, Modifiers how) {
    return finished(shifted(a, b, how), c, how);
  }

  /** By 32 bits, numbers of 32 bits would leave a long: the greatest of 31 bits saturates alike. */
  private static long shifted(int a, int b, Modifiers how) {
    int distance = distance(b, how);
    long value = first(a, how);
    return (distance == 32 ? Math.min(value, Integer.MAX_VALUE) : value) << distance;
  }

  static int shiftScalarRight(int a, int b, Modifiers how) {
    return finished(first(a, how) >> distance(b, how), 0, how);
  }

  static int shiftScalarRight(int a, int b, int c, Modifiers how) {
    return finished(first(a, how) >> distance(b, how), c, how);
  }

  /** Distances are cut to five bits, or to 32. */
  private static int distance(int b, Modifiers how) {
    long distance = second(b, how);
    return (int) (how.has("wrap") ? distance & 31 : Math.min(distance, 32));
  }

  static int compareScalars(int a, int b, Comparison comparison, Modifiers how) {
    return compareScalars(a, b, 0, comparison, how);
  }

  static int compareScalars(int a, int b, int c, Comparison comparison, Modifiers how) {
    long left = extended(a, "a", how.types().get(0), how);
    long right = extended(b, "b", how.types().get(1), how);
    boolean holds =
        switch (comparison) {
          case EQ -> left == right;
          case NE -> left != right;
          case LT -> left < right;
          case LE -> left <= right;
          case GT -> left > right;
          case GE -> left >= right;
          default -> throw new IllegalArgumentException("no comparison of scalars: " + comparison);
        };
    return combined(holds ? 1 : 0, c, false, how);
  }

  /**
   * The product of {@code a} and {@code b} and {@code c}, one of the two negated maybe; {@code .po}
   * adds one, {@code .shr7} and {@code .shr15} scale the sum (PTX ISA 9.7.18.1.3). The sum of all
   * fits 66 bits, of which {@code .sat} sees all.
   */
  static int multiplyAddScalars(int a, int b, int c, Modifiers how) {
    boolean negatedProduct = isNegated("a", how) != isNegated("b", how);
    boolean negatedSum = isNegated("c", how);
    boolean signed =
        isSigned(how.types().get(1))
            || isSigned(how.types().get(2))
            || negatedProduct
            || negatedSum;
    long left = first(a, how);
    long right = second(b, how);
    long low = left * right;
    long high = Math.multiplyHigh(left, right);
    if (negatedProduct) {
      high = low == 0 ? -high : ~high;
      low = -low;
    }
    // negating adds one to the complement, which is what the manual does as well
    int addend = negatedSum ? ~c : c;
    long extended = signed ? addend : Integer.toUnsignedLong(addend);
    long sum = low + extended;
    high += (extended >> 63) + (Long.compareUnsigned(sum, low) < 0 ? 1 : 0);
    if (negatedSum || how.has("po")) {
      sum++;
      high += sum == 0 ? 1 : 0;
    }
    int scale = how.has("shr7") ? 7 : how.has("shr15") ? 15 : 0;
    if (scale > 0) {
      sum = (sum >>> scale) | (high << -scale);
      high >>= scale;
    }
    return how.has("sat") ? saturated(high, sum, signed) : (int) sum;
  }

  /** 128 bits clamped to the range of 32. */
  private static int saturated(long high, long low, boolean signed) {
    if (high != low >> 63) {
      return high < 0 ? (signed ? Integer.MIN_VALUE : 0) : (signed ? Integer.MAX_VALUE : -1);
    }
    return (int) clamped(low, WORD, signed);
  }

  private static boolean isNegated(String operand, Modifiers how) {
    return how.has(operand + ":" + Modifier.Part.NEGATED);
  }

  private static long first(int a, Modifiers how) {
    return extended(a, "a", how.types().get(1), how);
  }

  private static long second(int b, Modifiers how) {
    return extended(b, "b", how.types().get(2), how);
  }

  /** The selected part of a source, extended by the sign that its type has. */
  private static long extended(int word, String operand, Type type, Modifiers how) {
    var part = element(operand, how);
    long bits = Integer.toUnsignedLong(word) >>> offset(part);
    int unused = Long.SIZE - width(part);
    return isSigned(type) ? (bits << unused) >> unused : (bits << unused) >>> unused;
  }

  private static int finished(long value, int c, Modifiers how) {
    boolean signed = isSigned(how.types().getFirst());
    long result = how.has("sat") ? clamped(value, width(element("d", how)), signed) : value;
    return combined((int) result, c, signed, how);
  }

  private static int combined(int value, int c, boolean signed, Modifiers how) {
    if (how.has("add")) {
      return value + c;
    }
    if (how.has("min") || how.has("max")) {
      int order = signed ? Integer.compare(value, c) : Integer.compareUnsigned(value, c);
      return (order < 0) == how.has("min") ? value : c;
    }
    var part = element("d", how);
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

  /** The part of an operand that is selected, {@code b1} or {@code h0}; empty = the whole. */
  private static String element(String operand, Modifiers how) {
    for (var part : how.parts(operand)) {
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
