package dev.athanor.ops.map;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import java.util.List;
import java.util.function.UnaryOperator;

/** The gradients of {@code activation(gate) · up}. */
record GateBackwardFunction(Activation activation, DType dtype) implements FusedFunction {

  @Override
  public String name() {
    return "gate_backward_%s_%s".formatted(activation.text().replace('-', '_'), dtype.text());
  }

  @Override
  public List<Tensor> operands() {
    return tensors("grad", "gate", "up");
  }

  @Override
  public List<Tensor> results() {
    return tensors("dgate", "dup");
  }

  private List<Tensor> tensors(String... names) {
    return List.of(names).stream().map(name -> new Tensor(name, dtype)).toList();
  }

  @Override
  public UnaryOperator<List<Real>> declare(KernelBuilder k) {
    return x -> {
      var grad = x.get(0);
      var gate = x.get(1);
      return List.of(
          activation.derivative(gate).times(grad.times(x.get(2))),
          activation.apply(gate).times(grad));
    };
  }
}
