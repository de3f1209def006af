package dev.athanor.engine.ptx;

import java.util.regex.Pattern;

/**
 * The shape of a matrix product such as {@code .m16n8k16}: an m by k matrix times a k by n matrix.
 */
public record MatrixShape(int m, int n, int k) {
  private static final Pattern TEXT = Pattern.compile("m(\\d+)n(\\d+)k(\\d+)");

  /**
   * Returns the shape in an instruction's modifiers.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static MatrixShape of(Modifiers modifiers) {
    for (var modifier : modifiers.list()) {
      var text = TEXT.matcher(modifier.word());
      if (text.matches()) {
        return new MatrixShape(
            Integer.parseInt(text.group(1)),
            Integer.parseInt(text.group(2)),
            Integer.parseInt(text.group(3)));
      }
    }
    throw new IllegalArgumentException("no shape such as .m16n8k16 in " + modifiers);
  }
}
