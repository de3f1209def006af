package dev.athanor.engine.author;

import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.LinearLayout;
import java.util.List;

/**
 * The row and the column that a layout gives to a lane's first element, computed in a kernel.
 *
 * @param layout from lanes to rows and columns; lanes beyond its extent repeat it
 * @param lane the number of the lane in its warp, or of the thread in its warpgroup
 */
public record LaneCoordinates(LinearLayout layout, Int lane) {

  public Int row() {
    return image(Axis.ROW);
  }

  public Int column() {
    return image(Axis.COLUMN);
  }

  private Int image(Axis output) {
    int lanes = Math.max(KernelBuilder.WARP, layout.inputs().extent(Axis.LANE));
    return image(layout.bases(Axis.LANE, output), lane, lanes, 1);
  }

  /**
   * Returns the XOR of the bases of a value's bits. Consecutive bits that stay consecutive are
   * extracted and shifted together.
   *
   * @param bases the value repeats beyond them
   * @param bound the value is less than this
   * @param unit a power of two by which the result is divided
   */
  static Int image(List<Integer> bases, Int value, long bound, int unit) {
    var image = Int.of(value.emitter, 0);
    int flipped = 0;
    int next;
    for (int bit = 0; bit < bases.size(); bit = next) {
      int basis = bases.get(bit);
      next = bit + 1;
      while (Integer.bitCount(basis) == 1
          && next < bases.size()
          && bases.get(next) == basis << (next - bit)) {
        next++;
      }
      if (basis == 0) {
        continue;
      }
      var field = value.div(1 << bit);
      if (1L << next < bound) {
        field = field.rem(1 << (next - bit));
      }
      var part = field.times(basis / unit);
      int flips = basis * ((1 << (next - bit)) - 1);
      image = (flipped & flips) == 0 ? image.plus(part) : image.xor(part);
      flipped |= flips;
    }
    return image;
  }
}
