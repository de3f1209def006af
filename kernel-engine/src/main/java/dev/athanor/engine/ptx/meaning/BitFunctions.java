package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Type;

/** Lane functions of instructions on bits, bytes and halves of integers (PTX ISA 9.7.1, 9.7.8). */
final class BitFunctions {

  private BitFunctions() {}

  static int countOnes(int a) {
    return Integer.bitCount(a);
  }

  static int countOnes(long a) {
    return Long.bitCount(a);
  }

  static int leadingZeros(int a) {
    return Integer.numberOfLeadingZeros(a);
  }

  static int leadingZeros(long a) {
    return Long.numberOfLeadingZeros(a);
  }

  /** Returns the highest bit that differs from the sign; -1 if there is none. */
  static int highestBit(int a) {
    return highestBitUnsigned(a < 0 ? ~a : a);
  }

  static int highestBit(long a) {
    return highestBitUnsigned(a < 0 ? ~a : a);
  }

  static int highestBitUnsigned(int a) {
    return 31 - Integer.numberOfLeadingZeros(a);
  }

  static int highestBitUnsigned(long a) {
    return 63 - Long.numberOfLeadingZeros(a);
  }

  /** Returns the left shift that moves that bit to the top; -1 if there is none. */
  static int shiftToTop(int a) {
    return shiftToTopUnsigned(a < 0 ? ~a : a);
  }

  static int shiftToTop(long a) {
    return shiftToTopUnsigned(a < 0 ? ~a : a);
  }

  static int shiftToTopUnsigned(int a) {
    return a == 0 ? -1 : Integer.numberOfLeadingZeros(a);
  }

  static int shiftToTopUnsigned(long a) {
    return a == 0 ? -1 : Long.numberOfLeadingZeros(a);
  }

  static int reverse(int a) {
    return Integer.reverse(a);
  }

  static long reverse(long a) {
    return Long.reverse(a);
  }

  /**
   * Returns the index of the n-th set bit from a base upward or downward; -1 if there is none. For
   * the smallest {@code n}, which has no absolute value, an H200 returns 0.
   */
  static int findSetBit(int mask, int base, int n) {
    if (n == Integer.MIN_VALUE) {
      return 0;
    }
    int step = n > 0 ? 1 : -1;
    int left = Math.max(Math.abs(n) - 1, 0);
    for (int at = base; at >= 0 && at < 32; at += step) {
      if (((mask >>> at) & 1) != 0 && left-- == 0) {
        return at;
      } else if (n == 0) {
        break;
      }
    }
    return -1;
  }

  // 32-bit forms use the low 8 bits of position and length. 64-bit forms use all 32 bits: the
  // manual
  // masks those too, but ptxas implements them with clamping shifts.

  static int extract(int a, int position, int length) {
    return (int) field(a, position & 0xFF, length & 0xFF, 31);
  }

  static long extract(long a, int position, int length) {
    return field(a, clamped(position), clamped(length), 63);
  }

  /**
   * Extracts a field. Bits beyond the top bit replicate the sign, which else is the field's top
   * bit.
   */
  private static long field(long a, int position, int length, int top) {
    if (length == 0) {
      return 0;
    }
    int sign = Math.min(position + length - 1, top);
    long shifted = a << (63 - sign);
    return position > sign ? shifted >> 63 : shifted >> (63 - sign + position);
  }

  static int extractUnsigned(int a, int position, int length) {
    return (int) fieldUnsigned(a & 0xFFFF_FFFFL, position & 0xFF, length & 0xFF);
  }

  static long extractUnsigned(long a, int position, int length) {
    return fieldUnsigned(a, clamped(position), clamped(length));
  }

  private static long fieldUnsigned(long a, int position, int length) {
    return position > 63 ? 0 : (a >>> position) & lowBits(length);
  }

  static int insert(int a, int b, int position, int length) {
    return (int) withField(a, b, position & 0xFF, length & 0xFF);
  }

  static long insert(long a, long b, int position, int length) {
    return withField(a, b, clamped(position), clamped(length));
  }

  private static long withField(long a, long b, int position, int length) {
    if (position > 63) {
      return b;
    }
    long field = lowBits(length) << position;
    return (b & ~field) | ((a << position) & field);
  }

  /** Clamps an unsigned count to 64. */
  private static int clamped(int count) {
    return Integer.compareUnsigned(count, 64) > 0 ? 64 : count;
  }

  private static long lowBits(int count) {
    return count > 63 ? -1 : (1L << count) - 1;
  }

  /** Returns a run of ones from a position on; excess bits are dropped. */
  static int maskWrap(int position, int length) {
    return (int) (lowBits(length & 31) << (position & 31));
  }

  static int maskClamp(int position, int length) {
    return Integer.compareUnsigned(position, 31) > 0
        ? 0
        : (int) (lowBits(Integer.compareUnsigned(length, 31) > 0 ? 32 : length) << position);
  }

  static int extendWrap(int a, int bits) {
    int count = bits & 31;
    return count == 0 ? 0 : a << (32 - count) >> (32 - count);
  }

  static int extendWrapUnsigned(int a, int bits) {
    return a & (int) lowBits(bits & 31);
  }

  static int extendClamp(int a, int bits) {
    return Integer.compareUnsigned(bits, 31) > 0 ? a : extendWrap(a, bits);
  }

  static int extendClampUnsigned(int a, int bits) {
    return Integer.compareUnsigned(bits, 31) > 0 ? a : extendWrapUnsigned(a, bits);
  }

  /** Selects four of eight bytes; bit 3 of a selector replicates the byte's sign. */
  static int permute(int a, int b, int selectors) {
    long bytes = ((b & 0xFFFF_FFFFL) << 32) | (a & 0xFFFF_FFFFL);
    int result = 0;
    for (int i = 0; i < 4; i++) {
      int selector = selectors >>> (4 * i);
      int value = (byte) (bytes >>> (8 * (selector & 7)));
      result |= (((selector & 8) == 0 ? value : value >> 7) & 0xFF) << (8 * i);
    }
    return result;
  }

  static int permuteForward(int a, int b, int at) {
    return permute(a, b, 0x3210 + 0x1111 * (at & 3));
  }

  static int permuteBackward(int a, int b, int at) {
    return permute(a, b, (0x5670 + 0x1111 * (at & 3)) & 0x7777);
  }

  static int permuteReplicate8(int a, int b, int at) {
    return permute(a, b, 0x1111 * (at & 3));
  }

  static int permuteClampLeft(int a, int b, int at) {
    int from = at & 3;
    return permute(a, b, from | (Math.max(1, from) << 4) | (Math.max(2, from) << 8) | (3 << 12));
  }

  static int permuteClampRight(int a, int b, int at) {
    int to = at & 3;
    return permute(a, b, (Math.min(1, to) << 4) | (Math.min(2, to) << 8) | (to << 12));
  }

  static int permuteReplicate16(int a, int b, int at) {
    return permute(a, b, (at & 1) == 0 ? 0x1010 : 0x3232);
  }

  /** Applies a three-input truth table: bit {@code 4a + 2b + c} of {@code table}. */
  static int lookUp(int a, int b, int c, int table) {
    int result = 0;
    for (int i = 0; i < 8; i++) {
      if (((table >>> i) & 1) != 0) {
        result |= (i > 3 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
      }
    }
    return result;
  }

  static int funnelLeftWrap(int low, int high, int by) {
    return (int) ((join(low, high) << (by & 31)) >>> 32);
  }

  static int funnelRightWrap(int low, int high, int by) {
    return (int) (join(low, high) >>> (by & 31));
  }

  static int funnelLeftClamp(int low, int high, int by) {
    return (int) ((join(low, high) << IntegerFunctions.minUnsigned(by, 32)) >>> 32);
  }

  static int funnelRightClamp(int low, int high, int by) {
    return (int) (join(low, high) >>> IntegerFunctions.minUnsigned(by, 32));
  }

  private static long join(int low, int high) {
    return ((long) high << 32) | (low & 0xFFFF_FFFFL);
  }

  /** Returns 1 for 0, else 0. */
  static int isZero(int a) {
    return a == 0 ? 1 : 0;
  }

  static long isZero(long a) {
    return a == 0 ? 1 : 0;
  }

  /** Returns {@code c} plus the dot product of four bytes. */
  static int dot4(int a, int b, int c, Type typeA, Type typeB) {
    int sum = c;
    for (int i = 0; i < 4; i++) {
      sum += part(a, i, typeA) * part(b, i, typeB);
    }
    return sum;
  }

  /** Returns {@code c} plus the dot product of two halves and the low two bytes. */
  static int dot2Low(int a, int b, int c, Type typeA, Type typeB) {
    return c + half(a, 0, typeA) * part(b, 0, typeB) + half(a, 1, typeA) * part(b, 1, typeB);
  }

  static int dot2High(int a, int b, int c, Type typeA, Type typeB) {
    return dot2Low(a, b >>> 16, c, typeA, typeB);
  }

  private static int part(int a, int index, Type type) {
    int value = a >>> (8 * index);
    return type == Type.S32 ? (byte) value : value & 0xFF;
  }

  private static int half(int a, int index, Type type) {
    int value = a >>> (16 * index);
    return type == Type.S32 ? (short) value : value & 0xFFFF;
  }
}
