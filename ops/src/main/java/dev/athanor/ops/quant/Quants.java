package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** Converts small integers that are packed in a word to f32. */
public final class Quants {

  /** The bits of the f32 2^23. With its lowest byte replaced by b, it is 2^23 + b. */
  private static final int BASE = 0x4B000000;

  private static final double BASE_VALUE = 0x1p23;

  /** The highest byte of the f32 128; {@code prmt} inserts a byte below it. */
  private static final int SEVEN_BITS = 0x43000000;

  /** The {@code prmt} selection of byte 0 of a word below the three upper bytes of a number. */
  private static final int LOWEST_BYTE = 0x7540;

  static final double RAISED = 128;

  /** Added to the entries of tables, so that their bytes are unsigned. */
  private static final int TABLE_BIAS = 128;

  private static final int LOW_NIBBLES = 0x0F0F0F0F;

  private Quants() {}

  /**
   * Returns the four unsigned bytes of a word, each minus {@code bias}; exact, without conversions.
   */
  static List<Real> bytes(KernelBuilder k, Int word, double bias) {
    var values = new ArrayList<Real>();
    for (int b = 0; b < 4; b++) {
      values.add(raised(k, word, b).minus(BASE_VALUE + bias));
    }
    return values;
  }

  /** Returns 2^23 plus byte {@code b} of a word. */
  private static Real raised(KernelBuilder k, Int word, int b) {
    return f32(k, word, BASE, LOWEST_BYTE | b);
  }

  private static Real f32(KernelBuilder k, Int word, int number, int selection) {
    return (Real) permute(k, word, k.integer(number), k.integer(selection)).value().as(Type.F32);
  }

  /** Returns four of the bytes of two words; the nibbles of the selection are their indices. */
  static Int permute(KernelBuilder k, Int low, Int high, Int selection) {
    return k.compute(Type.B32, "prmt.b32", low.value(), high.value(), selection.value()).integer();
  }

  /**
   * Returns the entries of a table that the eight nibbles of a word select, the lowest first, as
   * the bytes of two words.
   *
   * @param table sixteen integers from -128 to 127
   */
  static List<Int> select(KernelBuilder k, Int word, List<Integer> table) {
    var quarters = new ArrayList<Int>();
    for (int i = 0; i < 16; i += 4) {
      int bytes = 0;
      for (int b = 3; b >= 0; b--) {
        bytes = bytes << 8 | (table.get(i + b) + TABLE_BIAS);
      }
      quarters.add(k.integer(bytes));
    }
    // the permutation has eight bytes to choose from; the highest bit then chooses between two
    var within = word.and(0x77777777);
    var upper = word.shr(1).and(0x44444444).or(k.integer(0x32103210));
    var selected = new ArrayList<Int>();
    for (int shift = 0; shift < 32; shift += 16) {
      var low = permute(k, quarters.get(0), quarters.get(1), within.shr(shift));
      var high = permute(k, quarters.get(2), quarters.get(3), within.shr(shift));
      selected.add(permute(k, low, high, upper.shr(shift)));
    }
    return selected;
  }

  /**
   * Returns every second selected entry: those of the low nibbles of bytes, or of the high ones.
   *
   * @param first 0 or 1
   */
  static List<Real> everySecond(KernelBuilder k, List<Int> selected, int first) {
    var values = new ArrayList<Real>();
    for (var word : selected) {
      for (int b = first; b < 4; b += 2) {
        values.add(raised(k, word, b).minus(BASE_VALUE + TABLE_BIAS));
      }
    }
    return values;
  }

  /** Returns the selected entries in order. */
  static List<Real> selected(KernelBuilder k, List<Int> selected) {
    return bytes(k, selected, TABLE_BIAS);
  }

  /** Returns 2^(exponent - 128), which is subnormal for the exponents 0 and 1. */
  static Real halvedPower(KernelBuilder k, Int exponent) {
    var subnormal = k.integer(0x00200000).shl(exponent);
    var bits = subnormal.where(exponent.lt(2), exponent.plus(-1).shl(23));
    return (Real) bits.value().as(Type.F32);
  }

  /** Returns unsigned byte {@code b} of a word. */
  static Real unsigned(KernelBuilder k, Int word, int b) {
    return raised(k, word, b).minus(BASE_VALUE);
  }

  /** Returns the negated unsigned byte {@code b} of a word. */
  static Real negated(KernelBuilder k, Int word, int b) {
    return k.real(Type.F32, BASE_VALUE).minus(raised(k, word, b));
  }

  /**
   * Returns the bytes of several words, in order, each plus {@link #RAISED}. No byte may exceed
   * 127: they become the seven leading fraction bits of an f32 from 128 to 255.
   */
  static List<Real> raised(KernelBuilder k, List<Int> words) {
    var values = new ArrayList<Real>();
    for (var word : words) {
      for (int b = 0; b < 4; b++) {
        values.add(f32(k, word, SEVEN_BITS, 0x7044 | (b << 8)));
      }
    }
    return values;
  }

  /** Returns the unsigned bytes of several words, in order, each minus {@code bias}. */
  static List<Real> bytes(KernelBuilder k, List<Int> words, double bias) {
    var values = new ArrayList<Real>();
    words.forEach(word -> values.addAll(bytes(k, word, bias)));
    return values;
  }

  /** Returns the low nibbles of the bytes of a word, as bytes. */
  static Int low(Int word) {
    return word.and(LOW_NIBBLES);
  }

  /** Returns the high nibbles of the bytes of a word, as bytes. */
  static Int high(Int word) {
    return word.shr(4).and(LOW_NIBBLES);
  }

  /** Returns the eight nibbles of a word, the lowest first, each minus {@code bias}. */
  static List<Real> nibbles(KernelBuilder k, Int word, double bias) {
    var even = bytes(k, low(word), bias);
    var odd = bytes(k, high(word), bias);
    var values = new ArrayList<Real>();
    for (int b = 0; b < 4; b++) {
      values.add(even.get(b));
      values.add(odd.get(b));
    }
    return values;
  }

  /** Returns the eight nibbles of a word in two's complement, the lowest first. */
  public static List<Real> signedNibbles(KernelBuilder k, Int word) {
    // with the sign bit flipped, signed nibbles are unsigned nibbles with a bias of 8
    return nibbles(k, word.xor(k.integer(0x88888888)), 8);
  }
}
