package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;

/**
 * The second launch of a softmax with several blocks per row: each block combines the partial sums
 * of its row in a fixed order and writes its part. The grid and the tile are those of {@link
 * PartialSumFunction}. The parameters are those of {@link SoftmaxFunction} and {@code partials}.
 *
 * @param causal as in {@link SoftmaxFunction}
 * @param dropout as in {@link SoftmaxFunction}
 */
record SplitSoftmaxFunction(boolean causal, boolean dropout) implements RowFunction {

  @Override
  public String name() {
    return "softmax_split" + (dropout ? "_dropout" : "") + (causal ? "_causal" : "");
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.part();
    var x = row.of(kernel.tensor(k, "x"));
    var result = Probabilities.of(k, kernel, row, dropout);
    var scale = k.real("scale", kernel.number());
    var keep = k.real("keep", kernel.number());
    // The loads of the part are in flight while the team reduces the sums; loads of an input would
    // be moved below the barriers.
    var logits = Logits.of(k, row, x, scale, causal, k.integer("queries"));
    var parts = k.read(SpecialRegister.NCTAID_X);
    var partials =
        k.input("partials", kernel.number())
            .row(row.index, parts.times(PartialSumFunction.NUMBERS));
    var running = logits.new Running();
    k.loop(
        k.thread(),
        parts,
        kernel.tile().team(),
        part -> {
          var pair =
              partials.load(PartialSumFunction.NUMBERS, part.times(PartialSumFunction.NUMBERS));
          running.add(new Logits.Sum(pair.get(0).widen(), pair.get(1).widen()));
        });
    var sum = running.ofTeam();
    result.store(logits.powers(sum.base()), sum.reciprocal(keep));
  }
}
