package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/**
 * Emits the addition of a bias, or of -infinity for the hidden keys of a bool mask, to a tile of
 * scores.
 *
 * @param rows the rows of the mask for the rows of a thread
 * @param keys of a row
 */
record MaskRows(KernelBuilder k, List<GlobalPointer> rows, Int keys) {

  /**
   * Adds the mask to the scores of the keys that begin at {@code first}; hidden ones become
   * -infinity, even NaNs.
   *
   * @return whether a key of the warp's tile is hidden; all lanes must call this
   */
  Predicate add(RegisterTile scores, Int first) {
    var least = k.variable(k.real(Type.F32, 0));
    forEach(
        scores,
        first,
        (score, bias) -> {
          least.set(least.min(bias));
          score.set(hidden(bias, score.constant(Double.NEGATIVE_INFINITY), score.plus(bias)));
        });
    return k.reduceLanes(least, KernelBuilder.WARP, Real::min).eq(Double.NEGATIVE_INFINITY);
  }

  /** Sets the elements of hidden keys to 0. */
  void hide(RegisterTile tile, Int first) {
    forEach(tile, first, (element, bias) -> element.set(hidden(bias, bias.constant(0), element)));
  }

  private static Real hidden(Real bias, Real hidden, Real seen) {
    return hidden.where(bias.eq(Double.NEGATIVE_INFINITY), seen);
  }

  private interface Action {
    void accept(Real.Variable element, Real bias);
  }

  private void forEach(RegisterTile tile, Int first, Action action) {
    var begin = first.plus(tile.firstColumn());
    var left = keys.minus(begin);
    for (int r = 0; r < tile.rows(); r++) {
      var row = rows.get(r).plus(begin.wide());
      for (int c = 0; c < tile.columns(); c++) {
        var at = k.integer(tile.columnOffset(c));
        action.accept(tile.get(r, c), bias(row, left.gt(at), at));
      }
    }
  }

  private Real bias(GlobalPointer row, Predicate inside, Int at) {
    var value = row.loadWhere(inside, at);
    return row.element() == Type.U8
        ? k.real(Type.F32, Double.NEGATIVE_INFINITY)
            .where(value.integer().eq(0), k.real(Type.F32, 0))
        : value.widen();
  }
}
