package dev.athanor.ops.convolution;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.move.Layout;
import dev.athanor.ops.move.PermuteOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The tensors of a convolution with channels last: the inputs and the output, or copies in the
 * workspace.
 *
 * @param before launches that copy the inputs
 * @param after launches that copy the output
 * @param bytes read and written by the copies
 * @param workspaceBytes of the copies
 */
record DenseLayout(
    Slot x,
    Slot weight,
    Slot y,
    List<Step> before,
    List<Step> after,
    double bytes,
    long workspaceBytes) {

  DenseLayout {
    before = List.copyOf(before);
    after = List.copyOf(after);
  }

  /** Returns the tensors of a problem, copied if its channels are not last. */
  static DenseLayout of(
      ConvolutionProblem problem, Map<String, TensorType> inputs, Capability capability) {
    if (problem.channelsLast()) {
      return new DenseLayout(
          Slot.input("x"), Slot.input("weight"), Slot.output("y"), List.of(), List.of(), 0, 0);
    }
    var x = permuted(Objects.requireNonNull(inputs.get("x")), toLast(problem), capability);
    var weight =
        permuted(Objects.requireNonNull(inputs.get("weight")), toLast(problem), capability);
    var shape = problem.withChannelsLast().output();
    var y = permuted(shape, toFirst(problem), capability);
    var ofX = new Slot.Workspace(0);
    var ofWeight = new Slot.Workspace(Layout.aligned(bytes(x)));
    var ofY = new Slot.Workspace(ofWeight.byteOffset() + Layout.aligned(bytes(weight)));
    var before = new ArrayList<Step>();
    x.steps().forEach(step -> before.add(moved(step, Slot.input("x"), ofX)));
    weight.steps().forEach(step -> before.add(moved(step, Slot.input("weight"), ofWeight)));
    var after = y.steps().stream().map(step -> moved(step, ofY, Slot.output("y"))).toList();
    return new DenseLayout(
        ofX,
        ofWeight,
        ofY,
        before,
        after,
        x.cost().bytes() + weight.cost().bytes() + y.cost().bytes(),
        ofY.byteOffset() + Layout.aligned(bytes(y)));
  }

  /** Returns the time of the copies. */
  double microseconds(Machine machine) {
    return before.isEmpty() ? 0 : machine.streaming(before.size() + after.size(), bytes);
  }

  /** Returns the dimensions of a tensor in the order that has channels last. */
  private static List<Integer> toLast(ConvolutionProblem problem) {
    int rank = problem.windows().size();
    return IntStream.concat(
            IntStream.of(0), IntStream.concat(IntStream.rangeClosed(2, rank + 1), IntStream.of(1)))
        .boxed()
        .toList();
  }

  private static List<Integer> toFirst(ConvolutionProblem problem) {
    int rank = problem.windows().size();
    return IntStream.concat(IntStream.of(0, rank + 1), IntStream.rangeClosed(1, rank))
        .boxed()
        .toList();
  }

  private static LaunchPlan permuted(TensorType type, List<Integer> axes, Capability capability) {
    var op = new PermuteOp();
    var attributes = Attributes.of(op.description(), Map.of("axes", axes));
    return (LaunchPlan) op.plan(Map.of("x", type), attributes, capability);
  }

  private static long bytes(LaunchPlan plan) {
    return plan.outputs().values().iterator().next().bytes();
  }

  /** Returns a launch of a copy with another source and destination. */
  private static Step moved(Step step, Slot from, Slot to) {
    return step.map(slot ->
        switch (slot) {
          case Slot.Input(_, var offset) -> at(from, offset);
          case Slot.Output(_, var offset) -> at(to, offset);
          default -> slot;
        });
  }

  private static Slot at(Slot slot, long offset) {
    return switch (slot) {
      case Slot.Input(var name, var first) -> new Slot.Input(name, first + offset);
      case Slot.Output(var name, var first) -> new Slot.Output(name, first + offset);
      case Slot.Workspace(var first) -> new Slot.Workspace(first + offset);
      case Slot.Scalar scalar -> scalar;
    };
  }
}
