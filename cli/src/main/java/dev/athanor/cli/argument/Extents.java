package dev.athanor.cli.argument;

import dev.athanor.engine.device.Dim3;

/** The extents of a grid, block or cluster, written {@code 16,16}. */
public final class Extents {

  private Extents() {}

  /**
   * Parses one to three extents.
   *
   * @param option the option's name for the error message
   * @throws IllegalArgumentException if the text is invalid
   */
  public static Dim3 parse(String option, String text) {
    if (!text.matches("[1-9]\\d{0,8}(,[1-9]\\d{0,8}){0,2}")) {
      throw new IllegalArgumentException(
          "%s %s: expected one to three numbers, such as 16,16".formatted(option, text));
    }
    var parts = text.split(",", -1);
    return new Dim3(
        Integer.parseInt(parts[0]),
        parts.length > 1 ? Integer.parseInt(parts[1]) : 1,
        parts.length > 2 ? Integer.parseInt(parts[2]) : 1);
  }
}
