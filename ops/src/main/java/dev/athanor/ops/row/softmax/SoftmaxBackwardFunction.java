package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;
import java.util.ArrayList;

/**
 * The gradient of softmax from its output. The kernel's parameters are {@code rows, n, grad, y, dx,
 * scale}.
 */
record SoftmaxBackwardFunction() implements RowFunction {

  @Override
  public String name() {
    return "softmax_backward";
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var grad = row.of(kernel.input(k, "grad"));
    var y = row.of(kernel.input(k, "y"));
    var dx = row.of(kernel.tensor(k, "dx"));
    var scale = k.real("scale", kernel.number());
    var both =
        row.read(row.inOrder(), chunk -> chunk.load(y))
            .and(row.read(row.inOrder(), chunk -> chunk.load(grad)));
    var total = row.variable(0);
    both.forEach((chunk, v) -> {
      for (int i = 0; i < chunk.elements(); i++) {
        total.addProduct(v.get(i), v.get(chunk.elements() + i));
      }
    });
    var sum = row.sum(total);
    both.forEach((chunk, v) -> {
      var results = new ArrayList<Real>();
      for (int i = 0; i < chunk.elements(); i++) {
        var difference = v.get(chunk.elements() + i).minus(sum);
        results.add(v.get(i).times(difference).times(scale));
      }
      chunk.store(dx, results);
    });
  }
}
