package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.row.Chunk;
import dev.athanor.ops.row.Row;
import dev.athanor.ops.row.RowKernel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A row of the output of softmax.
 *
 * @param mask a row of bytes, 0 for dropped elements; empty without dropout
 */
record Probabilities(Optional<GlobalPointer> mask, GlobalPointer y) {

  /** Declares the parameters {@code mask}, if there is dropout, and {@code y}. */
  static Probabilities of(KernelBuilder k, RowKernel kernel, Row row, boolean dropout) {
    var mask =
        dropout ? Optional.of(row.of(k.input("mask", Type.U8))) : Optional.<GlobalPointer>empty();
    return new Probabilities(mask, row.of(kernel.tensor(k, "y")));
  }

  /** Stores powers times a factor; zeros for dropped elements. */
  void store(Row.Data powers, Real factor) {
    powers.forEach((chunk, v) ->
        chunk.store(y, kept(chunk, v.stream().map(each -> each.times(factor)).toList())));
  }

  private List<Real> kept(Chunk chunk, List<Real> values) {
    if (mask.isEmpty()) {
      return values;
    }
    var flags = chunk.loadFlags(mask.get());
    var kept = new ArrayList<Real>();
    for (int i = 0; i < values.size(); i++) {
      var v = values.get(i);
      kept.add(v.where(flags.get(i), v.constant(0)));
    }
    return kept;
  }
}
