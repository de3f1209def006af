package dev.athanor.cli;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/** An op with lists and a text that rejects each call with the problem that it received. */
public record ListOp() implements Op {

  @Override
  public OpDescription description() {
    return new OpDescription(
        "lists",
        "Takes lists.",
        OpDescription.Input.list("x", 1, 3, "[N]", Set.of(DType.F32), "the operands"),
        List.of(
            Attribute.integers("axes", "the axes").from(-8, 7),
            Attribute.numbers("constants", "the constants"),
            Attribute.text("expression", "the expression")),
        OpDescription.Output.list("y", 2, "[N]", "same as x0", "the results"),
        "y = expression",
        "N");
  }

  @Override
  public List<Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    throw new OpException.InvalidAttribute(
        "expression", "got " + new Problem(this, inputs, attributes).text());
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    return Map.of("y0", new double[2], "y1", new double[2]);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return List.of();
  }
}
