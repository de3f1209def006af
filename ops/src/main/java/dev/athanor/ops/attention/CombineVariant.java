package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Combines the partial results of the key splits, as a dependent launch. A split with the greatest
 * score {@code m} and the sum of weights {@code s} has the weight {@code s·2^(factor·(m − the
 * greatest m))}. The logarithm of the sum is not added to the score, since f32 would round it away
 * beside a large score. One block per query; parameters {@code partial, partialSums, out, [lse],
 * queries, dv, splits, factor}.
 *
 * @param dtype of out
 * @param logSumExp whether lse is written
 */
record CombineVariant(DType dtype, boolean logSumExp) implements Variant {

  static final int THREADS = 64;

  /** Splits whose loads are in flight at once: ptxas unrolls the loops over splits by four. */
  private static final int UNROLL = 4;

  /**
   * Returns the number of dependent loads of a thread: for the maximum, the sum and the columns.
   */
  static int rounds(int dv, int splits) {
    return (2 + Math.ceilDiv(dv, THREADS)) * Math.ceilDiv(splits, UNROLL);
  }

  @Override
  public String name() {
    return "attention_combine_" + dtype.text() + (logSumExp ? "_lse" : "");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var partial = k.pointer("partial", Type.F32);
    var partialSums = k.pointer("partialSums", Type.F32);
    var out = k.pointer("out", FlashVariant.type(dtype));
    var lse = logSumExp ? Optional.of(k.pointer("lse", Type.F32)) : Optional.<GlobalPointer>empty();
    var queries = k.integer("queries");
    var dv = k.integer("dv");
    var splits = k.integer("splits");
    var factor = k.real("factor", Type.F32);
    var query = k.block();
    k.awaitPreviousGrid();
    Function<Int, List<Value>> scoreAndSum =
        split -> partialSums.row(split, queries.times(2)).load(2, query.times(2));

    var greatest = k.variable(k.real(Type.F32, Double.NEGATIVE_INFINITY));
    k.loop(
        k.integer(0),
        splits,
        1,
        split -> greatest.set(greatest.max(scoreAndSum.apply(split).getFirst().widen())));
    // if no split has a visible key, all weights are 0
    Real base = greatest.constant(0).where(greatest.eq(Double.NEGATIVE_INFINITY), greatest);
    Function<Int, Real> weight =
        split -> {
          var of = scoreAndSum.apply(split);
          return of.getFirst().widen().minus(base).times(factor).exp2().times(of.getLast().widen());
        };
    var total = k.variable(k.real(Type.F32, 0));
    k.loop(k.integer(0), splits, 1, split -> total.add(weight.apply(split)));
    var inverse = total.constant(0).where(total.eq(0), total.reciprocal());
    k.loop(
        k.thread(),
        dv,
        THREADS,
        column -> {
          var sum = k.variable(k.real(Type.F32, 0));
          k.loop(
              k.integer(0),
              splits,
              1,
              split -> {
                var row = partial.matrix(split, queries.wide().times(dv)).row(query, dv);
                sum.addProduct(weight.apply(split), row.load(column).widen());
              });
          out.row(query, dv).store(column, sum.times(inverse).to(out.element()));
        });
    lse.ifPresent(to -> {
      var log2 = greatest.times(factor).plus(total.log2());
      to.storeWhere(k.thread().eq(0), query, log2.times(Math.log(2)));
    });
  }
}
