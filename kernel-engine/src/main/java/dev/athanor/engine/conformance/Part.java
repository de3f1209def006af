package dev.athanor.engine.conformance;

import java.util.List;
import java.util.stream.IntStream;

/**
 * One of several parts of a list of checks, which processes can make in parallel.
 *
 * @param number from 1 to {@code count}
 * @param count number of parts, at least 1
 */
public record Part(int number, int count) {

  /** The only part. */
  public static final Part ALL = new Part(1, 1);

  private static final String FORMAT = "[1-9]\\d{0,4}/[1-9]\\d{0,4}";

  /**
   * Parses a part such as {@code 3/10}.
   *
   * @throws IllegalArgumentException if the text is invalid
   */
  public static Part parse(String text) {
    if (text.matches(FORMAT)) {
      var numbers = text.split("/", 2);
      int number = Integer.parseInt(numbers[0]);
      int count = Integer.parseInt(numbers[1]);
      if (number <= count) {
        return new Part(number, count);
      }
    }
    throw new IllegalArgumentException(
        "\"%s\" is not a part; write 3/10 for the third of ten".formatted(text));
  }

  /** Returns every {@code count}-th element, so that neighbors are in different parts. */
  public <T> List<T> of(List<T> all) {
    return IntStream.iterate(number - 1, i -> i < all.size(), i -> i + count)
        .mapToObj(all::get)
        .toList();
  }
}
