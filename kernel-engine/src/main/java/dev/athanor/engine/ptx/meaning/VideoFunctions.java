package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;
import java.util.function.IntBinaryOperator;

/**
 * Lane functions of SIMD video instructions (PTX ISA 9.7.18.2) on the four bytes or two halves of
 * 32-bit registers. Each has two steps: the first computes the elements into 16-bit or 32-bit
 * pieces of a long, the second forms the result. The first type is that of the result.
 */
final class VideoFunctions {

  private static final int BYTE = 8;
  private static final int HALF = 16;

  private VideoFunctions() {}

  /**
   * Applies a function to each element.
   *
   * @param bits width of an element; the long has twice as many per element
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

  /** Returns a computed element, which is signed. */
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

  /** Rounds ties away from zero. */
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

  static long compareBytes(int a, int b, Comparison comparison, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, BYTE, (x, y) -> holds(comparison, x, y) ? 1 : 0);
  }

  static long compareHalves(int a, int b, Comparison comparison, Type typeOfA, Type typeOfB) {
    return each(a, b, typeOfA, typeOfB, HALF, (x, y) -> holds(comparison, x, y) ? 1 : 0);
  }

  private static boolean holds(Comparison comparison, int a, int b) {
    return switch (comparison) {
      case EQ -> a == b;
      case NE -> a != b;
      case LT -> a < b;
      case LE -> a <= b;
      case GT -> a > b;
      case GE -> a >= b;
      default ->
          throw new IllegalArgumentException(
              "comparison not supported by SIMD video instructions: " + comparison);
    };
  }

  /** Merges the low bits of the selected elements into {@code c}. */
  static int mergeBytes(long all, int c, Modifiers modifiers) {
    return merged(all, c, BYTE, Integer.MIN_VALUE, Integer.MAX_VALUE, modifiers);
  }

  static int mergeHalves(long all, int c, Modifiers modifiers) {
    return merged(all, c, HALF, Integer.MIN_VALUE, Integer.MAX_VALUE, modifiers);
  }

  /**
   * Clamps the selected elements to the range of the result's type and merges them into {@code c}.
   */
  static int saturateBytes(long all, int c, Type to, Modifiers modifiers) {
    return to.kind() == Type.Kind.SIGNED
        ? merged(all, c, BYTE, Byte.MIN_VALUE, Byte.MAX_VALUE, modifiers)
        : merged(all, c, BYTE, 0, 0xFF, modifiers);
  }

  static int saturateHalves(long all, int c, Type to, Modifiers modifiers) {
    return to.kind() == Type.Kind.SIGNED
        ? merged(all, c, HALF, Short.MIN_VALUE, Short.MAX_VALUE, modifiers)
        : merged(all, c, HALF, 0, 0xFFFF, modifiers);
  }

  private static int merged(
      long all, int c, int bits, int least, int greatest, Modifiers modifiers) {
    int word = c;
    for (int i = 0; i * bits < 32; i++) {
      if (isSelected(i, modifiers)) {
        int mask = ((1 << bits) - 1) << (i * bits);
        int value = Math.clamp(computed(all, i, bits), least, greatest);
        word = (word & ~mask) | ((value << (i * bits)) & mask);
      }
    }
    return word;
  }

  /** Returns the sum of {@code c} and the selected elements. */
  static int sumBytes(long all, int c, Modifiers modifiers) {
    return sum(all, c, BYTE, modifiers);
  }

  static int sumHalves(long all, int c, Modifiers modifiers) {
    return sum(all, c, HALF, modifiers);
  }

  private static int sum(long all, int c, int bits, Modifiers modifiers) {
    int sum = c;
    for (int i = 0; i * bits < 32; i++) {
      sum += isSelected(i, modifiers) ? computed(all, i, bits) : 0;
    }
    return sum;
  }

  /** Returns whether the result's mask selects an element; without a mask, all are selected. */
  private static boolean isSelected(int element, Modifiers modifiers) {
    var masks = modifiers.parts("d");
    return masks.isEmpty() || masks.getFirst().part().indexOf('0' + element) >= 0;
  }
}
