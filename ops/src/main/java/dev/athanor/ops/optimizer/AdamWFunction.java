package dev.athanor.ops.optimizer;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.map.Elements;
import dev.athanor.ops.map.FusedFunction;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The update of {@link AdamW}. Its parameters are clip, if it is given, and the numbers of {@link
 * AdamW#numbers}.
 *
 * @param x dtype of the parameters
 * @param grad dtype of the gradients
 * @param clips whether the gradients have a factor
 */
record AdamWFunction(DType x, DType grad, boolean clips) implements FusedFunction {

  /** Returns the dtype of the moments, and of arithmetic. */
  private DType moments() {
    return x == DType.F64 ? DType.F64 : DType.F32;
  }

  @Override
  public String name() {
    return "adamw_%s%s%s"
        .formatted(x.text(), grad == x ? "" : "_" + grad.text(), clips ? "_clipped" : "");
  }

  @Override
  public List<Tensor> operands() {
    return List.of(
        new Tensor("x", x),
        new Tensor("grad", grad),
        new Tensor("m", moments()),
        new Tensor("v", moments()));
  }

  @Override
  public List<Tensor> results() {
    return List.of(
        new Tensor("y", x), new Tensor("nextM", moments()), new Tensor("nextV", moments()));
  }

  @Override
  public UnaryOperator<List<Real>> declare(KernelBuilder k) {
    Type number = Elements.type(moments());
    var clip = clips ? k.input("clip", number).load(k.integer(0)).widen() : k.real(number, 1);
    var keep = k.real("keep", number);
    var gain1 = k.real("gain1", number);
    var beta2 = k.real("beta2", number);
    var gain2 = k.real("gain2", number);
    var root = k.real("root", number);
    var epsilon = k.real("epsilon", number);
    var rate = k.real("rate", number);
    return operands -> {
      var g = clips ? operands.get(1).times(clip) : operands.get(1);
      var m = operands.get(2);
      var nextM = g.minus(m).fma(gain1, m);
      var nextV = operands.get(3).times(beta2).plus(g.times(g).times(gain2));
      var divisor = nextV.sqrt().fma(root, epsilon);
      var step = nextM.over(divisor).times(rate);
      return List.of(operands.getFirst().times(keep).minus(step), nextM, nextV);
    };
  }
}
