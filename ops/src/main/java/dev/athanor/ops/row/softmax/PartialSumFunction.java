package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;
import java.util.List;

/**
 * The first launch of a softmax with several blocks per row: each block stores the maximum of its
 * part and the sum of powers relative to it, for {@link SplitSoftmaxFunction}. The grid has {@code
 * parts × rows} blocks. The parameters are {@code rows, n, x, partials, scale, queries}.
 *
 * @param causal as in {@link SoftmaxFunction}
 */
record PartialSumFunction(boolean causal) implements RowFunction {

  /** Number of numbers of a partial sum: the maximum and the sum. */
  static final int NUMBERS = 2;

  @Override
  public String name() {
    return "softmax_partial_sums" + (causal ? "_causal" : "");
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.part();
    var x = row.of(kernel.input(k, "x"));
    var partials = k.pointer("partials", kernel.number());
    var scale = k.real("scale", kernel.number());
    var logits = Logits.of(k, row, x, scale, causal, k.integer("queries"));
    var sum = logits.sum();
    var parts = k.read(SpecialRegister.NCTAID_X);
    k.when(
        k.thread().eq(0),
        () ->
            partials
                .row(row.index, parts.times(NUMBERS))
                .store(k.block().times(NUMBERS), List.<Real>of(sum.most(), sum.total())));
  }
}
