package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** A layout of eight 4-bit weights in a 32-bit word. */
public enum Int4Layout {
  /**
   * {@code [N, K/8]}: nibble {@code k % 8} of word {@code (n, k/8)} is weight {@code (k, n)}, in
   * two's complement.
   */
  K_PACKED,
  /**
   * {@code [K/8, N]}: nibble {@code k % 8} of word {@code (k/8, n)}; zero points {@code [K/g,
   * N/8]}, nibble {@code n % 8} of word {@code (group, n/8)}.
   */
  GPTQ,
  /**
   * {@code [K, N/8]}: word {@code (k, n/8)} has column {@code 8·(n/8) + ORDER[i]} in nibble {@code
   * i}; zero points {@code [K/g, N/8]} alike.
   */
  AWQ;

  /** Weights per word. */
  public static final int WORD = 8;

  /** Bytes of a word. */
  public static final int BYTES = 4;

  /** The zero point of unsigned nibbles if none are stored. */
  public static final int MIDDLE = 8;

  /** The column of nibble {@code i} in a word of AWQ. */
  private static final int[] ORDER = {0, 2, 4, 6, 1, 3, 5, 7};

  /** Returns the name in requests, such as {@code k-packed}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static Int4Layout of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  static List<String> names() {
    return Arrays.stream(values()).map(Int4Layout::text).toList();
  }

  /**
   * Returns the index of the nibble that holds a column, from 0 to 7, of a word along N, in a
   * kernel.
   */
  public Int nibbleOfColumn(Int column) {
    return this == AWQ ? column.div(2).plus(column.rem(2).times(4)) : column;
  }

  /** Returns the index of the nibble that holds a column, from 0 to 7, of a word along N. */
  int nibbleOfColumn(int column) {
    if (this != AWQ) {
      return column;
    }
    int nibble = 0;
    while (ORDER[nibble] != column) {
      nibble++;
    }
    return nibble;
  }
}
