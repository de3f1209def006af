package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Emits the addition of a bias, or of -infinity for the hidden keys of a bool mask, to a tile of
 * scores.
 *
 * @param rows the rows of the mask for the rows of a thread
 * @param keys of a row, a multiple of {@code together}
 * @param together adjacent elements that are loaded at once: 1 or 2
 */
public record MaskRows(KernelBuilder k, List<GlobalPointer> rows, Int keys, int together) {

  /**
   * Returns the rows of the mask for rows of a head; those beyond the last one read its mask. Reads
   * the parameters {@code batchRows, headRows, queryRows}.
   *
   * @param head of its batch
   * @param rows of a head
   * @param queries of each of the heads that are packed as rows; empty unless packed
   * @param keys of a row of the mask
   */
  public static MaskRows of(
      KernelBuilder k,
      GlobalPointer mask,
      Int batch,
      Int head,
      Int rows,
      Optional<Int> queries,
      Int keys,
      int together,
      Stream<Int> ofThread) {
    var ofBatch = batch.times(k.integer("batchRows"));
    var headRows = k.integer("headRows");
    var queryRows = k.integer("queryRows");
    var pointers =
        ofThread
            .map(each -> {
              var row = each.min(rows.plus(-1));
              var ofRow =
                  queries.map(all -> head.times(rows.div(all)).plus(row.div(all))).orElse(head);
              var at = ofBatch.plus(ofRow.times(headRows));
              var query = queries.map(row::rem).orElse(row);
              return mask.row(at.plus(query.times(queryRows)), keys);
            })
            .toList();
    return new MaskRows(k, pointers, keys, together);
  }

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

  /** Returns the elements of the mask for a tile of scores, row by row. */
  public List<Value> load(RegisterTile scores, Int first) {
    var all = new ArrayList<Value>();
    forEach(scores, first, (_, _, elements) -> all.addAll(elements));
    return all;
  }

  /** Adds elements from {@link #load} to the scores; hidden ones become -infinity, even NaNs. */
  public void add(RegisterTile scores, List<Value> elements) {
    scores.map((r, c, score) -> {
      var element = elements.get(r * scores.columns() + c);
      var hidden = score.constant(Double.NEGATIVE_INFINITY);
      if (isBool()) {
        return hidden.where(element.integer().eq(0), score);
      }
      var bias = element.widen();
      return hidden(bias, hidden, score.plus(bias));
    });
  }

  /** Returns whether a row of the thread sees a key. */
  public Predicate sees(int row, Int key) {
    return bias(rows.get(row).load(key)).eq(Double.NEGATIVE_INFINITY).not();
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
    forEach(
        tile,
        first,
        (r, c, elements) -> {
          for (int i = 0; i < together; i++) {
            action.accept(tile.get(r, c + i), bias(elements.get(i)));
          }
        });
  }

  private interface Loaded {
    void accept(int row, int column, List<Value> elements);
  }

  private void forEach(RegisterTile tile, Int first, Loaded action) {
    var begin = first.plus(tile.firstColumn());
    var left = keys.minus(begin);
    for (int r = 0; r < tile.rows(); r++) {
      var row = rows.get(r).plus(begin.wide());
      for (int c = 0; c < tile.columns(); c += together) {
        var at = k.integer(tile.columnOffset(c));
        action.accept(r, c, row.loadWhere(left.gt(at), together, at));
      }
    }
  }

  private boolean isBool() {
    return rows.getFirst().element() == Type.U8;
  }

  private Real bias(Value element) {
    return isBool()
        ? k.real(Type.F32, Double.NEGATIVE_INFINITY)
            .where(element.integer().eq(0), k.real(Type.F32, 0))
        : element.widen();
  }
}
