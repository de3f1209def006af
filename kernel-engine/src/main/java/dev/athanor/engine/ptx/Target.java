package dev.athanor.engine.ptx;

import java.util.regex.Pattern;

/**
 * A {@code .target} such as {@code sm_80} or {@code sm_90a}. The suffix {@code a} enables
 * instructions of that architecture only.
 *
 * @param sm compute capability times ten
 */
public record Target(int sm, boolean architectureSpecific) {
  public static final Target SM_75 = new Target(75, false);
  public static final Target SM_80 = new Target(80, false);
  public static final Target SM_86 = new Target(86, false);
  public static final Target SM_89 = new Target(89, false);
  public static final Target SM_90 = new Target(90, false);
  public static final Target SM_90A = new Target(90, true);

  private static final Pattern TEXT = Pattern.compile("(?:sm|compute)_(\\d{1,4})([af]?)");

  /**
   * Parses {@code sm_80}, {@code sm_90a}, {@code compute_90} or {@code sm_100f}. Drops the suffix
   * {@code f}, which no row of the table needs.
   *
   * @throws IllegalArgumentException if the text is not a target
   */
  public static Target of(String text) {
    var m = TEXT.matcher(text);
    if (!m.matches()) {
      throw new IllegalArgumentException("\"" + text + "\" is not a target; write sm_80 or sm_90a");
    }
    return new Target(Integer.parseInt(m.group(1)), m.group(2).equals("a"));
  }

  /** Returns whether this target runs code for {@code other}. */
  public boolean canRun(Target other) {
    return other.architectureSpecific ? equals(other) : sm >= other.sm;
  }

  @Override
  public String toString() {
    return "sm_" + sm + (architectureSpecific ? "a" : "");
  }
}
