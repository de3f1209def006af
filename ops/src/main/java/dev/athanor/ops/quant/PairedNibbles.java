package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * Decodes words of eight four-bit weights to f16, two weights an instruction. Nibbles {@code i} and
 * {@code i + 4} of a word are a pair. Written into the mantissas of two f16 numbers they stand for
 * themselves beside a base, 1024 for an even {@code i} and 64 for an odd one, whose last bit is
 * four places lower. The difference to a zero point with the same base is exact (Kim et al., <a
 * href="https://arxiv.org/abs/2211.10017">Who Says Elephants Can't Run</a>, 2022, section 3).
 */
public final class PairedNibbles {

  /** Pairs of a word. */
  public static final int PAIRS = Int4Layout.WORD / 2;

  private static final int EVEN_BASE = 0x6400_6400;
  private static final int ODD_BASE = 0x5400_5400;
  private static final int EVEN_UNIT = 0x0001_0001;
  private static final int ODD_UNIT = 0x0010_0010;

  private final KernelBuilder k;

  public PairedNibbles(KernelBuilder k) {
    this.k = k;
  }

  private static int base(int pair) {
    return pair % 2 == 0 ? EVEN_BASE : ODD_BASE;
  }

  private static int unit(int pair) {
    return pair % 2 == 0 ? EVEN_UNIT : ODD_UNIT;
  }

  /**
   * Returns the pairs of a word of unsigned nibbles, with their bases.
   *
   * @param added to each nibble, such as 1 for zero points that are stored less one
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

  /** Returns what to subtract from pairs that count from the same zero point, from 0 to 16. */
  public List<Value> zeros(Int zero) {
    var pairs = new ArrayList<Value>();
    for (int pair = 0; pair < PAIRS; pair++) {
      pairs.add(bits(zero.times(unit(pair)).plus(base(pair))));
    }
    return pairs;
  }

  /** Returns {@code (pair - zero) · scale} for each pair, rounded once. */
  public List<Value> weights(List<Value> pairs, List<Value> zeros, List<Value> scales) {
    var weights = new ArrayList<Value>();
    for (int pair = 0; pair < PAIRS; pair++) {
      var quants = k.compute(Type.B32, "sub.rn.f16x2", pairs.get(pair), zeros.get(pair));
      weights.add(k.compute(Type.B32, "mul.rn.f16x2", quants, scales.get(pair)));
    }
    return weights;
  }

  /** Returns pairs of nibbles {@code (0, 1), (2, 3), (4, 5), (6, 7)} in the place of others. */
  public List<Value> inOrder(List<Value> pairs) {
    return List.of(
        halves(pairs.get(0), pairs.get(1), 0x5410),
        halves(pairs.get(2), pairs.get(3), 0x5410),
        halves(pairs.get(0), pairs.get(1), 0x7632),
        halves(pairs.get(2), pairs.get(3), 0x7632));
  }

  private Value halves(Value first, Value second, int selection) {
    return k.compute(Type.B32, "prmt.b32", first, second, k.integer(selection).value());
  }

  /** The nibbles of a pair, at the places that its {@link #unit} says, with some bits turned. */
  private static Int nibbles(Int word, int pair, int flip) {
    var lowest = pair < 2 ? word : word.shr(8);
    return lowest.andXor(0xF * unit(pair), flip);
  }

  private static Value bits(Int word) {
    return word.value().as(Type.B32);
  }
}
