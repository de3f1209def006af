package com.example;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.row.RowCases;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowSchedule;
import dev.athanor.ops.row.RowShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** An op on rows: the logarithm of softmax. */
public final class LogSoftmax implements Op {

  @Override
  public OpDescription description() {
    return new OpDescription(
        "log-softmax",
        "Computes the logarithm of the softmax of each row.",
        List.of(new Input("x", "[…, N]", RowShape.DTYPES, false, "the logits")),
        List.of(),
        List.of(Output.of("y", "[…, N]", "same as x", "the log-probabilities")),
        "y = x - m - log(Σ exp(x - m)), where m is the maximum of the row",
        "5·N per row");
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability device) {
    var x = RowShape.of(inputs, "x");
    var outputs = Map.of("y", x.tensor());
    var arguments = Arguments.ofInputs("x").outputs("y");
    return RowPlanner.of(x)
        .plans(
            "log-softmax of " + x.dtype().text(),
            device,
            tile ->
                RowPlanner.Launches.of(
                    new RowKernel(new LogSoftmaxFunction(), x.dtype(), tile), x, arguments),
            outputs,
            Plan.Cost.of(5.0 * x.tensor().shape().elements(), inputs, outputs));
  }

  /** The kernel's parameters are {@code rows, n, x, y}. */
  private record LogSoftmaxFunction() implements RowFunction {
    @Override
    public String name() {
      return "log_softmax";
    }

    @Override
    public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
      var row = rows.row();
      var x = row.of(kernel.input(k, "x"));
      var y = row.of(kernel.tensor(k, "y"));
      var values =
          row.read(row.inOrder(), chunk -> chunk.orElse(Double.NEGATIVE_INFINITY, chunk.load(x)));
      var most = row.variable(Double.NEGATIVE_INFINITY);
      values.forEach((_, v) -> v.forEach(each -> most.set(most.max(each))));
      var maximum = row.max(most);
      var sum = row.variable(0);
      values.forEach((_, v) -> v.forEach(each -> sum.add(each.minus(maximum).exp())));
      var log = row.sum(sum).log();
      values.forEach((chunk, v) ->
          chunk.store(y, v.stream().map(each -> each.minus(maximum).minus(log)).toList()));
    }
  }

  /** Runs share a launch: each has rows of its own. */
  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return RowShape.rows(inputs, inputs.keySet());
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    var shape = RowShape.of(HostTensor.types(inputs), "x");
    var y = inputs.get("x").toDoubles();
    for (int begin = 0; begin < y.length; begin += shape.n()) {
      var row = Arrays.copyOfRange(y, begin, begin + shape.n());
      double most = Arrays.stream(row).max().orElseThrow();
      double log = Math.log(Arrays.stream(row).map(x -> Math.exp(x - most)).sum());
      for (int i = 0; i < row.length; i++) {
        y[begin + i] = row[i] - most - log;
      }
    }
    return Map.of("y", y);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var cases =
        new ArrayList<>(
            RowCases.sizes(
                quick,
                (_, dtype, rows, n) ->
                    new RowCases.Builder(this, random)
                        .normal("x", 0, 8, dtype, rows, n)
                        .within(Map.of("y", tolerance(dtype)))));
    for (var dtype : RowCases.DTYPES) {
      cases.add(
          new RowCases.Builder(this, random)
              .special("x", dtype, 9, 14)
              .within(Map.of("y", tolerance(dtype))));
    }
    return cases;
  }

  /** One rounding to the dtype, beside the error of the logarithm. */
  private static Tolerance tolerance(DType dtype) {
    return Tolerance.maximum(dtype.spacing(1) / 2 + 2e-6);
  }
}
