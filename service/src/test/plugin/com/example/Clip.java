package com.example;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.Candidates;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/** An op on elements, on the bare KernelBuilder: {@code y = min(max(x, low), high)}. */
public final class Clip implements Op {

  private static final int THREADS = 128;

  @Override
  public OpDescription description() {
    return new OpDescription(
        "clip",
        "Clips each element to a range.",
        List.of(new Input("x", "[…]", Set.of(DType.F32), false, "the input tensor")),
        List.of(
            Attribute.number("low", 0, "the minimum of y"),
            Attribute.number("high", 1, "the maximum of y")),
        List.of(Output.of("y", "[…]", "f32", "the clipped tensor")),
        "y = min(max(x, low), high)",
        "2·N");
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability device) {
    double low = attributes.number("low");
    double high = attributes.number("high");
    if (low > high) {
      throw new OpException.InvalidAttribute(
          "low", "low is %s and high is %s; low must not be above high".formatted(low, high));
    }
    var x = inputs.get("x");
    long n = x.shape().elements();
    var outputs = Map.of("y", x);
    var candidates = new Candidates("clip", device);
    candidates.offer(
        n,
        "one thread per element",
        new Step(
            new ClipVariant(),
            Dim3.of(Math.toIntExact(Math.ceilDiv(n, THREADS))),
            THREADS,
            0,
            Arguments.ofInputs("x")
                .outputs("y")
                .with("n", n)
                .with("low", (float) low)
                .with("high", (float) high)));
    return candidates.plans(outputs, Plan.Cost.of(2.0 * n, inputs, outputs));
  }

  private record ClipVariant() implements Variant {
    @Override
    public String name() {
      return "clip_f32";
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(
          name(),
          THREADS,
          k -> {
            var x = k.pointer("x", Type.F32);
            var y = k.pointer("y", Type.F32);
            var n = k.wide("n");
            var low = k.real("low", Type.F32);
            var high = k.real("high", Type.F32);
            var first = k.block().wide().times(THREADS);
            var inside = first.plus(k.thread().wide()).lt(n);
            var value = x.plus(first).loadWhere(inside, k.thread()).widen();
            y.plus(first).storeWhere(inside, k.thread(), value.max(low).min(high));
          });
    }
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    double low = (float) attributes.number("low");
    double high = (float) attributes.number("high");
    return Map.of(
        "y",
        Arrays.stream(inputs.get("x").toDoubles())
            .map(x -> Math.min(Math.max(x, low), high))
            .toArray());
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return List.of(
        new Case(
            Map.of("x", new Draw(random).normal(DType.F32, 7, 100)),
            Attributes.of(description(), Map.of("low", -0.5)),
            Map.of("y", Tolerance.exact())));
  }
}
