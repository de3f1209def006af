package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;
import java.util.function.IntBinaryOperator;

/**
 * The lane functions of the SIMD video instructions (PTX ISA 9.7.18.2), which compute on the four
 * bytes or two halves of 32-bit registers. Each is in two parts: the first computes the elements,
 * which it leaves in the 16-bit or 32-bit pieces of a long, and the second makes the result of
 * them. Where a type says that elements are signed, the first type is that of the result.
 */
final class VideoFunctions {

  private static final int BYTE = 8;
  private static final int HALF = 16;

  private VideoFunctions() {}

  /**
   * Applies a function to each element.
   *
   * @param bits of an element; the long has twice as many for each
   */
  private static long each(
      int a, int b, Type typeOfA, Type typeOfB, int bits, IntBinaryOperator function) {
    long all = 0;
    for (int at = 0; at < 32; at += bits) {
      long value =
          function.applyAsInt(element(a >>> at, typeOfA, bits), element(b >>> at, typeOfB, bits));
      all |= (value & ((1L << (2 * bits)) - 1)) << (2 * at);
    }
    return all;
  }

  private static int element(int word, Type type, int bits) {
    int shift = 32 - bits;
    return type.kind() == Type.Kind.SIGNED ? word << shift >> shift : word << shift >>> shift;
  }

  /** An element that was computed, which is signed. */
  private static int computed(long all, int number, int bits) {
    int unused = 64 - 2 * bits;
    return (int) (((all >> (2 * bits * number)) << unused) >> unused);
  }

  static long addBytes(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, Integer::sum);
  }

  static long addHalves(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, Integer::sum);
  }

  static long subtractBytes(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, (x, y) -> x - y);
  }

  static long subtractHalves(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, (x, y) -> x - y);
  }

  static long averageBytes(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, VideoFunctions::average);
  }

  static long averageHalves(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, VideoFunctions::average);
  }

  /** Halves are rounded away from zero. */
  private static int average(int a, int b) {
    int sum = a + b;
    return sum >= 0 ? (sum + 1) >> 1 : sum >> 1;
  }

  static long distanceBytes(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, (x, y) -> Math.abs(x - y));
  }

  static long distanceHalves(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, (x, y) -> Math.abs(x - y));
  }

  static long minBytes(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, Math::min);
  }

  static long minHalves(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, Math::min);
  }

  static long maxBytes(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, Math::max);
  }

  static long maxHalves(int a, int b, Type to, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, Math::max);
  }

  static long compareBytes(int a, int b, Comparison how, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, (x, y) -> holds(how, x, y) ? 1 : 0);
  }

  static long compareHalves(int a, int b, Comparison how, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, (x, y) -> holds(how, x, y) ? 1 : 0);
  }

  private static boolean holds(Comparison how, int a, int b) {
    return switch (how) {
      case EQ -> a == b;
      case NE -> a != b;
      case LT -> a < b;
      case LE -> a <= b;
      case GT -> a > b;
      case GE -> a >= b;
      default -> throw new IllegalArgumentException("no comparison of elements: " + how);
    };
  }

  /** The low bits of the elements in the mask; {@code c} has the others. */
  static int mergeBytes(long all, int c, Modifiers how) {
    return merged(all, c, BYTE, Integer.MIN_VALUE, Integer.MAX_VALUE, how);
  }

  static int mergeHalves(long all, int c, Modifiers how) {
    return merged(all, c, HALF, Integer.MIN_VALUE, Integer.MAX_VALUE, how);
  }

  /** The elements in the mask clamped to the range of the result's type; {@code c} has others. */
  static int saturateBytes(long all, int c, Type to, Modifiers how) {
    return to.kind() == Type.Kind.SIGNED
        ? merged(all, c, BYTE, Byte.MIN_VALUE, Byte.MAX_VALUE, how)
        : merged(all, c, BYTE, 0, 0xFF, how);
  }

  static int saturateHalves(long all, int c, Type to, Modifiers how) {
    return to.kind() == Type.Kind.SIGNED
        ? merged(all, c, HALF, Short.MIN_VALUE, Short.MAX_VALUE, how)
        : merged(all, c, HALF, 0, 0xFFFF, how);
  }

  private static int merged(long all, int c, int bits, int least, int greatest, Modifiers how) {
    int word = c;
    for (int i = 0; i * bits < 32; i++) {
      if (isSelected(i, how)) {
        int mask = ((1 << bits) - 1) << (i * bits);
        int value = Math.clamp(computed(all, i, bits), least, greatest);
        word = (word & ~mask) | ((value << (i * bits)) & mask);
      }
    }
    return word;
  }

  /** The sum of {@code c} and the elements in the mask. */
  static int sumBytes(long all, int c, Modifiers how) {
    return sum(all, c, BYTE, how);
  }

  static int sumHalves(long all, int c, Modifiers how) {
    return sum(all, c, HALF, how);
  }

  private static int sum(long all, int c, int bits, Modifiers how) {
    int sum = c;
    for (int i = 0; i * bits < 32; i++) {
      sum += isSelected(i, how) ? computed(all, i, bits) : 0;
    }
    return sum;
  }

  /** Whether the mask of the result has an element; without a mask all are selected. */
  private static boolean isSelected(int element, Modifiers how) {
    var masks = how.parts("d");
    return masks.isEmpty() || masks.getFirst().part().indexOf('0' + element) >= 0;
  }
}
