package dev.athanor.cli.debug;

import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/** Formats lanes and their values. */
final class LaneText {

  private static final int ALL = -1;

  private LaneText() {}

  /** Returns ranges of lanes, such as {@code lanes 0–3, 7}. */
  static String lanes(int mask) {
    if (mask == ALL) {
      return "all lanes";
    }
    var ranges = new ArrayList<String>();
    for (int lane = 0; lane < Warps.SIZE; lane++) {
      if (((mask >>> lane) & 1) != 0) {
        int first = lane;
        while (lane + 1 < Warps.SIZE && ((mask >>> (lane + 1)) & 1) != 0) {
          lane++;
        }
        ranges.add(first == lane ? "" + lane : first + "–" + lane);
      }
    }
    return (Integer.bitCount(mask) == 1 ? "lane " : "lanes ") + String.join(", ", ranges);
  }

  /**
   * Returns the values of some lanes: one if they are equal, else a list.
   *
   * @param register returns the text of a lane's value
   */
  static String values(IntFunction<String> register, int mask) {
    var texts = each(register, mask);
    return texts.stream().distinct().count() == 1
        ? texts.getFirst() + (texts.size() == 1 ? "" : " in " + lanes(mask))
        : String.join(", ", texts);
  }

  private static List<String> each(IntFunction<String> register, int mask) {
    var texts = new ArrayList<String>();
    for (int left = mask; left != 0; left &= left - 1) {
      texts.add(register.apply(Integer.numberOfTrailingZeros(left)));
    }
    return texts;
  }
}
