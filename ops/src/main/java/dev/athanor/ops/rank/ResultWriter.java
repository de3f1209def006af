package dev.athanor.ops.rank;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;

/**
 * Stores the results of a kernel. Parameters: the entries [rows, pitch], or the values and the
 * indices [outer, pitch, inner], of those that the result has; pitch, n, inner and flip.
 */
final class ResultWriter {

  private final KernelBuilder k;
  private final Entries entries;
  private final Result result;
  private final List<GlobalPointer> x;
  private final List<GlobalPointer> to;
  private final Int pitch;
  final Int n;
  final Int inner;
  final Int flip;

  /**
   * Declares the parameters.
   *
   * @param x the elements [outer, n, inner]; empty if values are not stored
   */
  ResultWriter(
      KernelBuilder k, Entries entries, Result result, DType dtype, List<GlobalPointer> x) {
    this.k = k;
    this.entries = entries;
    this.result = result;
    this.x = x;
    to = result == Result.ENTRIES ? entries.outputs("to") : new ArrayList<>();
    if (result.hasValues()) {
      to.add(k.pointer("values", Elements.type(dtype)));
    }
    if (result.hasScores()) {
      to.add(k.pointer("scores", Type.F32));
    }
    if (result.hasIndices()) {
      to.add(k.pointer("indices", Type.S64));
    }
    pitch = k.integer("pitch");
    n = k.integer("n");
    inner = k.integer("inner");
    flip = k.integer("flip");
  }

  /** Loads element {@code index} of a row of x where the condition holds. */
  Value element(Predicate condition, Int row, Int index) {
    return matrix(x.getFirst(), row, n)
        .row(index, inner)
        .loadWhere(condition, row.minus(row.div(inner).times(inner)));
  }

  private GlobalPointer matrix(GlobalPointer tensor, Int row, Int extent) {
    return tensor.matrix(row.div(inner), extent.wide().times(inner));
  }

  /** Stores an entry at a position of a row where the condition holds. */
  void store(Predicate condition, Int row, Int position, List<Value> entry) {
    if (result == Result.ENTRIES) {
      for (int i = 0; i < entry.size(); i++) {
        to.get(i).row(row, pitch).storeWhere(condition, position, entry.get(i));
      }
      return;
    }
    var column = row.minus(row.div(inner).times(inner));
    var stored = new ArrayList<Value>();
    if (result.hasValues()) {
      stored.add(element(condition, row, entries.index(entry)));
    }
    var index = entries.index(entry);
    if (result.hasScores()) {
      var number = entries.number(entry, flip);
      var hidden = entries.isHidden(entry);
      var worst = number.constant(Double.POSITIVE_INFINITY);
      stored.add(worst.where(flip.eq(0), worst.negate()).where(hidden, number));
      index = k.integer(-1).where(hidden, index);
    }
    if (result.hasIndices()) {
      stored.add(index.wide().value());
    }
    for (int i = 0; i < stored.size(); i++) {
      matrix(to.get(i), row, pitch)
          .row(position, inner)
          .storeWhere(condition, column, stored.get(i));
    }
  }
}
