package dev.athanor.ops.quant;

import dev.athanor.ops.DType;

/**
 * The byte positions of a block of 32 weights. Its scale is at byte 0. Quants of less than eight
 * bits share bytes: byte {@code j} has weight {@code j} in its low nibble and weight {@code j + 16}
 * in its high one.
 *
 * @param minimum position of the f16 minimum; 0 if there is none
 * @param fifths position of the word of the fifth bits, one for each weight; 0 if there is none
 * @param quants position of the first quant
 */
record BlockLayout(int minimum, int fifths, int quants) {

  static BlockLayout of(DType format) {
    return switch (format) {
      case Q4_0, Q8_0, IQ4_NL -> new BlockLayout(0, 0, 2);
      case Q4_1 -> new BlockLayout(2, 0, 4);
      case Q5_0 -> new BlockLayout(0, 2, 6);
      case MXFP4 -> new BlockLayout(0, 0, 1);
      default -> throw new IllegalArgumentException(format.text() + " has no blocks of 32 weights");
    };
  }
}
