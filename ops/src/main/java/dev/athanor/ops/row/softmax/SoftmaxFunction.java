package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;

/**
 * Softmax. The kernel's parameters are {@code rows, n, x, mask, y, scale, keep, queries}, without
 * the mask if there is no dropout; {@code scale} is the scale, times log2(e) unless the rows are
 * f64, {@code keep} the factor of elements that dropout keeps, and {@code queries} the number of
 * rows of a causal matrix.
 *
 * @param causal whether row i of S sees only the elements up to i + n − S
 * @param dropout whether elements are dropped where the mask is 0
 */
public record SoftmaxFunction(boolean causal, boolean dropout) implements RowFunction {

  @Override
  public String name() {
    return "softmax" + (dropout ? "_dropout" : "") + (causal ? "_causal" : "");
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var x = row.of(kernel.input(k, "x"));
    var result = Probabilities.of(k, kernel, row, dropout);
    var scale = k.real("scale", kernel.number());
    var keep = k.real("keep", kernel.number());
    var logits = Logits.of(k, row, x, scale, causal, k.integer("queries"));
    var sum = kernel.tile().whole() ? logits.sum() : logits.runningSum();
    result.store(logits.powers(sum.base()), sum.reciprocal(keep));
  }
}
