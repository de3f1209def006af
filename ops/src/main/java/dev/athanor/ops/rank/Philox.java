package dev.athanor.ops.rank;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import java.util.List;

/**
 * The counter-based random number generator Philox-4x32-10 (Salmon et al., Parallel random numbers:
 * as easy as 1, 2, 3, 2011), on the host and in kernels.
 */
final class Philox {

  private static final int ROUNDS = 10;
  private static final int FIRST_FACTOR = 0xD251_1F53;
  private static final int SECOND_FACTOR = 0xCD9E_8D57;

  /** The golden ratio. */
  private static final int FIRST_KEY_STEP = 0x9E37_79B9;

  /** The square root of 3, minus 1. */
  private static final int SECOND_KEY_STEP = 0xBB67_AE85;

  private Philox() {}

  /**
   * Returns four random words.
   *
   * @param counter four words
   * @param key two words
   */
  static int[] words(int[] counter, int[] key) {
    var words = counter.clone();
    for (int round = 0; round < ROUNDS; round++) {
      long first = product(FIRST_FACTOR, words[0]);
      long second = product(SECOND_FACTOR, words[2]);
      words[0] = (int) (second >>> Integer.SIZE) ^ words[1] ^ (key[0] + round * FIRST_KEY_STEP);
      words[1] = (int) second;
      words[2] = (int) (first >>> Integer.SIZE) ^ words[3] ^ (key[1] + round * SECOND_KEY_STEP);
      words[3] = (int) first;
    }
    return words;
  }

  private static long product(int a, int b) {
    return Integer.toUnsignedLong(a) * Integer.toUnsignedLong(b);
  }

  /**
   * Returns four random words.
   *
   * @param counter four words
   * @param key two words
   */
  static List<Int> words(KernelBuilder k, List<Int> counter, List<Int> key) {
    var words = counter;
    for (int round = 0; round < ROUNDS; round++) {
      var first = words.get(0);
      var second = words.get(2);
      var firstKey = key.get(0).plus(round * FIRST_KEY_STEP);
      var secondKey = key.get(1).plus(round * SECOND_KEY_STEP);
      words =
          List.of(
              second.unsignedMultiplyHigh(k.integer(SECOND_FACTOR)).xor(words.get(1)).xor(firstKey),
              second.times(SECOND_FACTOR),
              first.unsignedMultiplyHigh(k.integer(FIRST_FACTOR)).xor(words.get(3)).xor(secondKey),
              first.times(FIRST_FACTOR));
    }
    return words;
  }
}
