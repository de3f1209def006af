package dev.athanor.engine.profile;

import java.util.HashMap;
import java.util.Map;

/** A set of sectors of global memory. */
final class Footprint {

  private static final int PAGE_BITS = 16;
  private static final int PAGE_WORDS = (1 << PAGE_BITS) / Long.SIZE;

  private final Map<Long, long[]> pages = new HashMap<>();
  private long lastNumber = -1;
  private long[] lastPage = new long[0];

  void add(long sector) {
    long number = sector >>> PAGE_BITS;
    if (number != lastNumber) {
      lastPage = page(number);
      lastNumber = number;
    }
    lastPage[(int) (sector >>> 6) & PAGE_WORDS - 1] |= 1L << sector;
  }

  private long[] page(long number) {
    return pages.computeIfAbsent(number, _ -> new long[PAGE_WORDS]);
  }

  void addAll(Footprint other) {
    other.pages.forEach((number, words) -> {
      var own = page(number);
      for (int i = 0; i < words.length; i++) {
        own[i] |= words[i];
      }
    });
  }

  /** Returns the number of sectors. */
  long size() {
    long size = 0;
    for (var words : pages.values()) {
      for (long word : words) {
        size += Long.bitCount(word);
      }
    }
    return size;
  }
}
