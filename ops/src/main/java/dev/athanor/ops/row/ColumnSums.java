package dev.athanor.ops.row;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;

/**
 * The sums of the columns of an f32 matrix, always in the same order. The kernel's parameters are
 * {@code rows, n, in, out}; a block sums 32 columns, each by 32 threads.
 *
 * @param out dtype of the sums
 */
record ColumnSums(DType out) implements Variant {

  static final int COLUMNS = 32;
  static final int THREADS = COLUMNS * COLUMNS;

  @Override
  public String name() {
    return "column_sums_" + out.text();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(
        name(),
        THREADS,
        k -> {
          var rows = k.integer("rows");
          var n = k.integer("n");
          var in = k.pointer("in", Type.F32);
          var type = RowKernel.type(out);
          var sums = k.pointer("out", type);
          var tile = k.shared(Type.F32, COLUMNS, COLUMNS, COLUMNS + 1);
          var sum = k.variable(k.real(Type.F32, 0));
          var column = k.block().times(COLUMNS).plus(k.lane());
          k.loop(
              k.warp(),
              rows,
              COLUMNS,
              row -> sum.add(in.row(row, n).loadWhere(column.lt(n), column).widen()));
          tile.store(k.lane(), k.warp(), sum);
          k.barrier();
          // now a warp has a column and its lanes the parts
          var part = tile.load(k.warp(), k.lane()).widen();
          var total = k.reduceLanes(part, COLUMNS, Real::plus);
          var own = k.block().times(COLUMNS).plus(k.warp());
          sums.storeWhere(k.lane().eq(0).and(own.lt(n)), own, total.to(type));
        });
  }
}
