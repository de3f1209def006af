package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.row.Chunk;
import dev.athanor.ops.row.Row;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.Rows;
import java.util.ArrayList;
import java.util.List;

/**
 * Softmax. The kernel's parameters are {@code rows, n, x, mask, y, scale, keep, queries}: the scale
 * times log2(e), what is left after dropout is multiplied by, and the rows of a causal matrix.
 *
 * @param causal whether row i of S sees the elements up to i + n − S alone
 * @param dropout whether elements become zero where the mask is
 */
public record SoftmaxFunction(boolean causal, boolean dropout) implements RowFunction {

  @Override
  public String name() {
    return "softmax" + (dropout ? "_dropout" : "") + (causal ? "_causal" : "");
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, Rows rows) {
    var row = rows.row();
    var x = row.of(kernel.tensor(k, "x"));
    var masks = k.pointer("mask", Type.U8);
    var y = row.of(kernel.tensor(k, "y"));
    var scale = k.real("scale", Type.F32);
    var keep = k.real("keep", Type.F32);
    var queries = k.integer("queries");
    var mask = dropout ? row.of(masks) : masks;
    var keys = causal ? row.index.rem(queries).plus(row.n).minus(queries).plus(1) : row.n;

    var values = row.read(row.inOrder(), chunk -> masked(chunk, chunk.load(x), keys));
    if (kernel.tile().whole()) {
      // the difference comes first: a rounded product would err with the size of x, not of y
      var most = finite(row.reduce(List.of(max(values)), Double.NEGATIVE_INFINITY, Real::max));
      var powers = values.map((_, v) -> v.stream().map(each -> power(each, most, scale)).toList());
      var sum = row.variable(0);
      powers.forEach((_, v) -> v.forEach(sum::add));
      var factor = reciprocal(row.sum(sum).getFirst(), keep);
      powers.forEach(
          (chunk, v) -> store(chunk, y, mask, v.stream().map(each -> each.times(factor)).toList()));
      return;
    }
    // each thread's maximum so far, and its sum of powers relative to that
    var own = row.variable(Double.NEGATIVE_INFINITY);
    var sum = row.variable(0);
    values.forEach((_, v) -> {
      var next = v.stream().reduce(own, Real::max);
      var base = finite(next);
      sum.set(sum.times(power(own, base, scale)));
      v.forEach(each -> sum.add(power(each, base, scale)));
      own.set(next);
    });
    var most = finite(row.reduce(List.of(own), Double.NEGATIVE_INFINITY, Real::max).getFirst());
    var total = row.sum(sum.times(power(own, most, scale))).getFirst();
    var factor = reciprocal(total, keep);
    values.forEach((chunk, v) ->
        store(
            chunk,
            y,
            mask,
            v.stream().map(each -> power(each, most, scale).times(factor)).toList()));
  }

  /** The values, -infinity where the row has none or does not see them. */
  private List<Real> masked(Chunk chunk, List<Real> values, Int keys) {
    if (!causal) {
      return chunk.orElse(Double.NEGATIVE_INFINITY, values);
    }
    var seen = new ArrayList<Real>();
    for (int i = 0; i < values.size(); i++) {
      var v = values.get(i);
      seen.add(v.where(chunk.column(i).lt(keys), v.constant(Double.NEGATIVE_INFINITY)));
    }
    return seen;
  }

  private static Real max(Row.Data values) {
    var found = new ArrayList<Real>();
    values.forEach((_, v) -> found.addAll(v));
    return found.stream().reduce(Real::max).orElseThrow();
  }

  private static Real finite(List<Real> max) {
    return finite(max.getFirst());
  }

  /** A maximum to subtract: 0 where all is masked, since -infinity less itself is no number. */
  private static Real finite(Real max) {
    return max.where(max.gt(Double.NEGATIVE_INFINITY), max.constant(0));
  }

  private static Real power(Real x, Real most, Real scale) {
    return x.minus(most).times(scale).exp2();
  }

  /** What powers are multiplied by: nothing is left where all was masked. */
  private static Real reciprocal(Real sum, Real keep) {
    return sum.constant(0).where(sum.eq(0), keep.over(sum));
  }

  private void store(Chunk chunk, GlobalPointer y, GlobalPointer mask, List<Real> values) {
    if (!dropout) {
      chunk.store(y, values);
      return;
    }
    var kept = chunk.loadFlags(mask);
    var left = new ArrayList<Real>();
    for (int i = 0; i < values.size(); i++) {
      var v = values.get(i);
      left.add(v.where(kept.get(i), v.constant(0)));
    }
    chunk.store(y, left);
  }
}
