package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * Decodes words of eight 4-bit weights to f16 or bf16, two weights per instruction. A nibble that
 * is inserted into the mantissa of a number is added to a base: in f16, 1024 for the lowest four
 * bits and 64 for the next four; in bf16, whose mantissa has seven bits, 128 for the lowest four.
 * Subtracting a zero point with the same base is exact (Kim et al., <a
 * href="https://arxiv.org/abs/2211.10017">Who Says Elephants Can't Run</a>, 2022, section 3).
 *
 * @param element f16 or bf16
 */
public record PairedNibbles(KernelBuilder k, Type element, Order order) {

  /** The pairing of the nibbles of a word. */
  public enum Order {
    /** Nibbles {@code 2i} and {@code 2i + 1}. */
    NEIGHBORS,
    /** Nibbles {@code i} and {@code i + 4}, which take fewer instructions. */
    FOUR_APART
  }

  /** Pairs per word. */
  public static final int PAIRS = Int4Layout.WORD / 2;

  private static final int MINUS_ONES = 0xBF80_BF80;

  /** Returns the number that adds 1 to both nibbles of a pair. */
  private int unit(int pair) {
    if (element == Type.BF16) {
      return 0x0001_0001;
    }
    return order == Order.NEIGHBORS ? 0x0010_0001 : pair % 2 == 0 ? 0x0001_0001 : 0x0010_0010;
  }

  private int base(int pair) {
    int unit = unit(pair);
    return baseOf(unit >>> 16) << 16 | baseOf(unit & 0xFFFF);
  }

  private int baseOf(int unit) {
    return element == Type.BF16 ? 0x4300 : unit == 1 ? 0x6400 : 0x5400;
  }

  /**
   * Returns the pairs of a word of unsigned nibbles, with their bases.
   *
   * @param added number added to each nibble, such as 1 for zero points that are stored minus one
   */
  public List<Value> unsigned(Int word, int added) {
    var pairs = new ArrayList<Value>();
    for (int pair = 0; pair < PAIRS; pair++) {
      var based = nibbles(word, pair, base(pair));
      pairs.add(bits(added == 0 ? based : based.plus(added * unit(pair))));
    }
    return pairs;
  }

  /** Returns the pairs of a word of nibbles in two's complement, with their bases and 8 added. */
  public List<Value> signed(Int word) {
    var pairs = new ArrayList<Value>();
    for (int pair = 0; pair < PAIRS; pair++) {
      int signs = Int4Layout.MIDDLE * unit(pair);
      pairs.add(bits(nibbles(word, pair, base(pair) ^ signs)));
    }
    return pairs;
  }

  /**
   * Returns what selects a pair of {@link Order#NEIGHBORS} in {@link #selected}.
   *
   * @param pair from 0 to 3
   */
  public Int selection(Int pair) {
    return pair.times(0x1111).plus(element == Type.BF16 ? 0x4400 : 0);
  }

  /**
   * Returns one pair of {@link Order#NEIGHBORS} of a word, with its base. It is chosen in the
   * kernel.
   *
   * @param signed whether nibbles are in two's complement; 8 is added to them then
   */
  public Value selected(Int word, Int selection, boolean signed) {
    var high = element == Type.BF16 ? word.shr(4) : word;
    return based(prmt(word, high, selection), signed);
  }

  /** Returns the pair of the lowest nibbles of two words, with its base, as the first of a word. */
  public Value lowest(Int low, Int high) {
    return based(prmt(low, high, k.integer(0x5410)), false);
  }

  private Value based(Int placed, boolean signed) {
    int flipped = signed ? Int4Layout.MIDDLE * unit(0) : 0;
    return bits(placed.andXor(0xF * unit(0), base(0) ^ flipped));
  }

  /** Returns the number to subtract from the first pair, with a zero point from 0 to 16. */
  public Value zero(Int zero) {
    return bits(zero.times(unit(0)).plus(base(0)));
  }

  /** Returns the numbers to subtract from pairs with a common zero point, from 0 to 16. */
  public List<Value> zeros(Int zero) {
    var pairs = new ArrayList<Value>();
    for (int pair = 0; pair < PAIRS; pair++) {
      pairs.add(bits(zero.times(unit(pair)).plus(base(pair))));
    }
    return pairs;
  }

  /** Returns {@code pair - zero} for each pair, which is exact. */
  public List<Value> quants(List<Value> pairs, List<Value> zeros) {
    var quants = new ArrayList<Value>();
    for (int pair = 0; pair < PAIRS; pair++) {
      quants.add(quants(pairs.get(pair), zeros.get(pair)));
    }
    return quants;
  }

  private Value quants(Value pair, Value zero) {
    return difference(k, element, pair, zero);
  }

  /**
   * Returns {@code pair - subtracted}, rounded to {@code element}.
   *
   * @param element f16 or bf16
   */
  public static Value difference(KernelBuilder k, Type element, Value pair, Value subtracted) {
    // sub.bf16x2 needs sm_90
    return element == Type.BF16
        ? k.compute(Type.B32, "fma.rn.bf16x2", subtracted, bits(k.integer(MINUS_ONES)), pair)
        : k.compute(Type.B32, "sub.rn.f16x2", pair, subtracted);
  }

  /** Returns {@code (pair - zero) · scale} for each pair of f16, rounded once. */
  public List<Value> weights(List<Value> pairs, List<Value> zeros, List<Value> scales) {
    var quants = quants(pairs, zeros);
    var weights = new ArrayList<Value>();
    for (int pair = 0; pair < PAIRS; pair++) {
      weights.add(k.compute(Type.B32, "mul.rn.f16x2", quants.get(pair), scales.get(pair)));
    }
    return weights;
  }

  /**
   * Returns the nibbles of a pair at the positions of its {@link #unit}, with some bits flipped.
   */
  private Int nibbles(Int word, int pair, int flip) {
    return placed(word, pair).andXor(0xF * unit(pair), flip);
  }

  /** Returns a word with the nibbles of a pair at the positions of its {@link #unit}. */
  private Int placed(Int word, int pair) {
    if (order == Order.FOUR_APART) {
      return word.shr(element == Type.BF16 ? 4 * pair : pair / 2 * 8);
    }
    // copy the byte with both nibbles to both halves; for bf16, shift the upper copy
    return element == Type.BF16
        ? bytes(word, word.shr(4), 0x11 * pair | 0x1100 * (pair + 4))
        : bytes(word, word, 0x1111 * pair);
  }

  private Int bytes(Int low, Int high, int selection) {
    return prmt(low, high, k.integer(selection));
  }

  private Int prmt(Int low, Int high, Int selection) {
    return k.compute(Type.B32, "prmt.b32", bits(low), bits(high), selection.value()).integer();
  }

  private static Value bits(Int word) {
    return word.value().as(Type.B32);
  }
}
