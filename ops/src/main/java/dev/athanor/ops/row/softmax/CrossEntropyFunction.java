package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.DType;
import dev.athanor.ops.expression.RealFunctions;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;

/**
 * The cross-entropy of rows of logits, in one pass. The kernel's parameters are {@code rows, n, x,
 * target, ignored, loss, lse, scale, smoothing}, without smoothing if there is none; {@code scale}
 * is log2(e) unless the rows are f64.
 *
 * @param labels dtype of the labels
 * @param smoothed whether the loss includes the mean of the logits
 */
record CrossEntropyFunction(DType labels, boolean smoothed) implements RowFunction {

  @Override
  public String name() {
    return "cross_entropy_%s%s".formatted(labels.text(), smoothed ? "_smoothed" : "");
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var x = row.of(kernel.input(k, "x"));
    var label = Label.load(k, row, labels);
    var losses = k.pointer("loss", kernel.number());
    var lses = k.pointer("lse", kernel.number());
    var logits = Logits.of(k, row, x, k.real("scale", kernel.number()), false, k.integer(1));
    var ofLabel = x.loadWhere(label.exists(), label.column()).widen();
    var running = logits.new Running();
    var total = row.variable(0);
    logits
        .values()
        .forEach((chunk, v) -> {
          running.add(v);
          if (smoothed) {
            chunk.orElse(0, v).forEach(total::add);
          }
        });
    var sum = running.ofTeam();
    var lse = sum.most().plus(new RealFunctions(k).log(sum.total()));
    row.storeResult(lses, lse);
    var loss = lse.minus(ofLabel);
    if (smoothed) {
      var smoothing = k.real("smoothing", kernel.number());
      var ofMean = lse.minus(row.sum(total).over(row.n.real(kernel.number())));
      loss = loss.times(smoothing.negate().plus(1)).plus(ofMean.times(smoothing));
    }
    row.storeResult(losses, label.select(loss));
  }
}
