package dev.athanor.ops.attention;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;

/**
 * Combines the partial results of the key splits, weighted by {@code 2^lse}. One block per query;
 * parameters {@code partial, partialLse, out, lse, queries, dv, splits}.
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
    var partial = k.input("partial", Type.F32);
    var partialLse = k.input("partialLse", Type.F32);
    var out = k.pointer("out", FlashVariant.type(dtype));
    var lse = k.pointer("lse", Type.F32);
    var queries = k.integer("queries");
    var dv = k.integer("dv");
    var splits = k.integer("splits");
    var query = k.block();

    var greatest = k.variable(k.real(Type.F32, Double.NEGATIVE_INFINITY));
    k.loop(
        k.integer(0),
        splits,
        1,
        split -> greatest.set(greatest.max(partialLse.row(split, queries).load(query).widen())));
    // if no split has a visible key, all weights are 0
    Real base = greatest.constant(0).where(greatest.eq(Double.NEGATIVE_INFINITY), greatest);
    var total = k.variable(k.real(Type.F32, 0));
    k.loop(
        k.integer(0),
        splits,
        1,
        split -> total.add(partialLse.row(split, queries).load(query).widen().minus(base).exp2()));
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
                var weight = partialLse.row(split, queries).load(query).widen().minus(base).exp2();
                var row = partial.matrix(split, queries.wide().times(dv)).row(query, dv);
                sum.addProduct(weight, row.load(column).widen());
              });
          out.row(query, dv).store(column, sum.times(inverse).to(out.element()));
        });
    if (logSumExp) {
      lse.storeWhere(k.thread().eq(0), query, greatest.plus(total.log2()).times(Math.log(2)));
    }
  }
}
