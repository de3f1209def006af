package dev.athanor.ops.quant;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.util.List;

/** Products with quantised weights, quantisation and its inverse. */
public final class QuantOps implements OpProvider {

  @Override
  public List<Op> ops() {
    return List.of(
        new Dequantize(),
        new QuantizeInt8(),
        new MatmulGguf(),
        new MatmulInt4(),
        new QkvProject(false),
        new QkvProject(true),
        new LayerNormLinear());
  }
}
