package dev.athanor.ops.row.norm;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.row.RowKernel;
import java.util.ArrayList;

/**
 * A kernel that sums the columns of an f32 matrix in a fixed order. Its parameters are {@code rows,
 * n, in, out}. A block sums 32 columns; each of its warps sums some of the rows.
 *
 * @param out dtype of the sums
 */
record ColumnSums(DType out) implements Variant {

  /** Columns per block, one for each lane of a warp. */
  static final int COLUMNS = KernelBuilder.WARP;

  static final int THREADS = 256;

  private static final int WARPS = THREADS / COLUMNS;

  /** Rows that a thread loads at once. */
  private static final int AT_ONCE = 4;

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
          var in = k.input("in", Type.F32);
          var type = RowKernel.type(out);
          var sums = k.pointer("out", type);
          var tile = k.shared(Type.F32, WARPS, COLUMNS, COLUMNS);
          var column = k.block().times(COLUMNS).plus(k.lane());
          var sum = k.variable(k.real(Type.F32, 0));
          k.loop(
              k.warp(),
              rows,
              WARPS * AT_ONCE,
              first -> {
                var parts = new ArrayList<Real>();
                for (int i = 0; i < AT_ONCE; i++) {
                  var row = first.plus(i * WARPS);
                  var inside = row.lt(rows).and(column.lt(n));
                  parts.add(in.row(row, n).loadWhere(inside, column).widen());
                }
                parts.forEach(sum::add);
              });
          tile.store(k.warp(), k.lane(), sum);
          k.barrier();
          k.when(
              k.warp().eq(0),
              () -> {
                var total = k.variable(k.real(Type.F32, 0));
                for (int i = 0; i < WARPS; i++) {
                  total.add(tile.load(k.integer(i), k.lane()).widen());
                }
                sums.storeWhere(column.lt(n), column, total.to(type));
              });
        });
  }
}
