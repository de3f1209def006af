package dev.athanor.ops.attention;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;

/** Emits tests of the bits of two 16-bit numbers in a register. */
public final class HalfPairs {

  private HalfPairs() {}

  /** Returns the lowest exponent bit of both numbers. */
  private static int lastOfExponent(Type type) {
    return type == Type.F16 ? 0x0400_0400 : 0x0080_0080;
  }

  /** Returns the bits of both fractions. */
  static int fraction(Type type) {
    return lastOfExponent(type) - 0x0001_0001;
  }

  /**
   * Returns a 1 in the lowest bit of each number that is infinite or NaN.
   *
   * @param type f16 or bf16
   */
  public static Int nonFinite(Int pair, Type type) {
    // adding the exponent's lowest bit carries into the sign bit if all exponent bits are set
    return pair.and(0x7FFF_7FFF & ~fraction(type))
        .plus(lastOfExponent(type))
        .and(0x8000_8000)
        .shr(15);
  }

  /** Returns the pair with 0 for the numbers that {@link #nonFinite} reports. */
  public static Int finite(KernelBuilder k, Int pair, Int nonFinite) {
    return pair.and(nonFinite.times(0xFFFF).xor(k.integer(-1)));
  }
}
