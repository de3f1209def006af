package dev.athanor.ops.rank;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;

/**
 * The kernel that applies {@link Penalties} to logits.
 *
 * <p>Parameters: logits[B, V], counts[B, V], the results[B, V] in f32, V, the blocks per row, the
 * penalties.
 *
 * @param vector logits per thread: 4 if that divides V, else 1
 */
record PenaltyVariant(DType dtype, int vector) implements Variant {

  static final int THREADS = 256;

  /** Returns the variant for rows of a length. */
  static PenaltyVariant of(DType dtype, int length) {
    return new PenaltyVariant(dtype, length % 4 == 0 ? 4 : 1);
  }

  /** Returns the number of blocks that process a row. */
  int blocks(int length) {
    return Math.ceilDiv(length, THREADS * vector);
  }

  @Override
  public String name() {
    return "sample_penalties_%s_v%d".formatted(dtype.text(), vector);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var logits = k.input("logits", Elements.type(dtype));
    var counts = k.input("counts", Type.S32);
    var penalized = k.pointer("penalized", Type.F32);
    var length = k.integer("length");
    var blocks = k.integer("blocks");
    var repetition = k.real("repetition", Type.F32);
    var frequency = k.real("frequency", Type.F32);
    var presence = k.real("presence", Type.F32);
    var elements = new Elements(k);
    var row = k.block().div(blocks);
    var at = k.block().minus(row.times(blocks)).times(THREADS).plus(k.thread()).times(vector);
    var inside = at.lt(length);
    var loaded = logits.row(row, length).loadWhere(inside, vector, at);
    var occurrences = counts.row(row, length).loadWhere(inside, vector, at);
    var results = new ArrayList<Real>();
    for (int i = 0; i < vector; i++) {
      var logit = (Real) elements.widen(dtype, loaded.get(i));
      var count = occurrences.get(i).integer();
      var repeated = logit.over(repetition).where(logit.gt(0), logit.times(repetition));
      var result = repeated.minus(frequency.times(count.real(Type.F32))).minus(presence);
      results.add(result.where(count.gt(k.integer(0)), logit));
    }
    penalized.row(row, length).storeWhere(inside, at, results);
  }
}
