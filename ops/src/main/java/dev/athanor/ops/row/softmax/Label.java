package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.row.Row;

/**
 * The label of a row of logits.
 *
 * @param column the label, valid only if {@code exists}
 * @param exists whether the label is the index of a logit
 * @param ignored whether the row is ignored, whatever its logits
 */
record Label(Int column, Predicate exists, Predicate ignored) {

  /** Declares the parameters {@code target} and {@code ignored} and loads the label of a row. */
  static Label load(KernelBuilder k, Row row, DType dtype) {
    boolean isWide = dtype == DType.I64;
    var loaded = row.load(k.input("target", isWide ? Type.S64 : Type.S32));
    var label = isWide ? loaded.wide() : loaded.integer().wide();
    return new Label(
        label.narrow(),
        row.exists().and(label.ge(k.wide(0))).and(label.lt(row.n.wide())),
        label.ne(k.wide("ignored")).not());
  }

  /** Returns a number, or 0 if the row is ignored, or NaN if the label does not exist. */
  Real select(Real number) {
    return number.constant(0).where(ignored, number.where(exists, number.constant(Double.NaN)));
  }
}
