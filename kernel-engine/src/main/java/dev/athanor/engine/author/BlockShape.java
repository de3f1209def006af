package dev.athanor.engine.author;

import dev.athanor.engine.layout.Fragment;

/**
 * The threads of a block, in one dimension or two.
 *
 * @param width threads along the first dimension, whose indices are consecutive
 * @param height threads along the second dimension; 1 for one dimension
 */
record BlockShape(int width, int height) {

  private static final int MAX_THREADS = 1024;

  BlockShape {
    if (width < 1 || height < 1 || (long) width * height > MAX_THREADS) {
      throw new IllegalArgumentException(
          "a block has 1 to %d threads, got %s".formatted(MAX_THREADS, text(width, height)));
    }
  }

  int threads() {
    return width * height;
  }

  boolean isOneDimensional() {
    return height == 1;
  }

  /** Returns whether all warps of the block are full. */
  boolean hasOnlyFullWarps() {
    return threads() % Fragment.LANES == 0;
  }

  private static String text(int width, int height) {
    return height == 1 ? String.valueOf(width) : width + "x" + height;
  }

  @Override
  public String toString() {
    return text(width, height);
  }
}
