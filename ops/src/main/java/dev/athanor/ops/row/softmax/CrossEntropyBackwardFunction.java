package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.ops.DType;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;
import java.util.ArrayList;

/**
 * The gradient of the cross-entropy with respect to the logits, in one pass. The kernel's
 * parameters are {@code rows, n, x, target, ignored, grad, lse, dx, scale, hot, cold}; {@code
 * scale} is log2(e) unless the rows are f64, {@code hot} is subtracted from the probability of the
 * label and {@code cold} from all.
 *
 * @param labels dtype of the labels
 */
record CrossEntropyBackwardFunction(DType labels) implements RowFunction {

  @Override
  public String name() {
    return "cross_entropy_backward_" + labels.text();
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var x = row.of(kernel.input(k, "x"));
    var label = Label.load(k, row, labels);
    var grad = row.load(k.input("grad", kernel.number())).widen();
    var lse = row.load(k.input("lse", kernel.number())).widen();
    var dx = row.of(kernel.tensor(k, "dx"));
    var scale = k.real("scale", kernel.number());
    var hot = k.real("hot", kernel.number());
    var cold = k.real("cold", kernel.number());
    var logits = Logits.of(k, row, x, scale, false, k.integer(1));
    logits
        .powers(lse)
        .forEach((chunk, v) -> {
          var results = new ArrayList<Real>();
          for (int i = 0; i < v.size(); i++) {
            var less = v.get(i).minus(cold);
            var here = chunk.column(i).eq(label.column()).and(label.exists());
            results.add(label.select(less.minus(hot).where(here, less).times(grad)));
          }
          chunk.store(dx, results);
        });
  }
}
