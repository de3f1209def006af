package dev.athanor.ops.convolution;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.move.Layout;
import dev.athanor.ops.move.PadOp;
import dev.athanor.ops.move.PermuteOp;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The tensors of a convolution as the kernels on tensor cores read them: with channels last, in
 * runs of 16 bytes if they are padded. They are the inputs and the output, or copies in the
 * workspace.
 *
 * @param problem the convolution of these tensors
 * @param before launches that copy the inputs
 * @param after launches that copy the output
 * @param bytes read and written by the copies
 * @param workspaceBytes of the copies
 * @param transposed whether the channels are not last
 * @param padded whether there are further channels
 */
record DenseLayout(
    ConvolutionProblem problem,
    Slot x,
    Slot weight,
    Slot y,
    List<Step> before,
    List<Step> after,
    double bytes,
    long workspaceBytes,
    boolean transposed,
    boolean padded) {

  /** Bytes of the widest run. */
  private static final int RUN = 16;

  DenseLayout {
    before = List.copyOf(before);
    after = List.copyOf(after);
  }

  /** Returns the tensors with the channels that they have, copied if these are not last. */
  static DenseLayout of(
      ConvolutionProblem problem, Map<String, TensorType> inputs, Capability capability) {
    return of(problem, problem.channels(), inputs, capability);
  }

  /** Returns the tensors with zeros as further channels of x; empty if none are needed. */
  static Optional<DenseLayout> padded(
      ConvolutionProblem problem, Map<String, TensorType> inputs, Capability capability) {
    int run = RUN / problem.dtype().bytes();
    int channels = Math.ceilDiv(problem.channels(), run) * run;
    return problem.groups() == 1 && channels > problem.channels()
        ? Optional.of(of(problem, channels, inputs, capability))
        : Optional.empty();
  }

  private static DenseLayout of(
      ConvolutionProblem problem,
      int channels,
      Map<String, TensorType> inputs,
      Capability capability) {
    int rank = problem.windows().size();
    var copies = new Copies(capability);
    var x = new Tensor(Objects.requireNonNull(inputs.get("x")), Slot.input("x"));
    var weight = new Tensor(Objects.requireNonNull(inputs.get("weight")), Slot.input("weight"));
    var dense = problem.withChannelsLast(channels);
    if (!problem.channelsLast()) {
      x = copies.permuted(x, toLast(rank));
      weight = copies.permuted(weight, toLast(rank));
    }
    if (channels > problem.channels()) {
      x = copies.padded(x, channels - problem.channels());
      weight = copies.padded(weight, channels - problem.channels());
    }
    var before = List.copyOf(copies.steps);
    copies.steps.clear();
    Slot y = Slot.output("y");
    if (!problem.channelsLast()) {
      y = copies.allocate(dense.output());
      copies.permute(new Tensor(dense.output(), y), toFirst(rank), Slot.output("y"));
    }
    return new DenseLayout(
        dense,
        x.slot,
        weight.slot,
        y,
        before,
        copies.steps,
        copies.bytes,
        copies.end,
        !problem.channelsLast(),
        channels > problem.channels());
  }

  /** Returns the suffix of the names of plans. */
  String suffix() {
    return (transposed ? "_transposed" : "") + padding();
  }

  /** Returns the suffix of orders of summation, on which further channels have an influence. */
  String padding() {
    return padded ? "_padded" : "";
  }

  /** Returns the time of the copies. */
  double microseconds(Machine machine) {
    int launches = before.size() + after.size();
    return launches == 0 ? 0 : machine.streaming(launches, bytes);
  }

  /** Returns the dimensions of a tensor in the order that has channels last. */
  private static List<Integer> toLast(int rank) {
    return IntStream.concat(
            IntStream.of(0), IntStream.concat(IntStream.rangeClosed(2, rank + 1), IntStream.of(1)))
        .boxed()
        .toList();
  }

  private static List<Integer> toFirst(int rank) {
    return IntStream.concat(IntStream.of(0, rank + 1), IntStream.rangeClosed(1, rank))
        .boxed()
        .toList();
  }

  private record Tensor(TensorType type, Slot slot) {}

  /** Copies of tensors in the workspace. */
  private static final class Copies {
    private final Capability capability;
    private final List<Step> steps = new ArrayList<>();
    private double bytes;
    private long end;

    Copies(Capability capability) {
      this.capability = capability;
    }

    /** Returns memory in the workspace. */
    Slot allocate(TensorType type) {
      var slot = new Slot.Workspace(end);
      end = Layout.aligned(end + type.bytes());
      return slot;
    }

    Tensor permuted(Tensor tensor, List<Integer> axes) {
      var plan = plan(new PermuteOp(), tensor, "axes", axes);
      return copied(plan, tensor);
    }

    /** Returns a copy with more channels, which are zeros. */
    Tensor padded(Tensor tensor, int more) {
      var after = new ArrayList<>(Collections.nCopies(tensor.type.shape().rank(), 0));
      after.set(after.size() - 1, more);
      return copied(plan(new PadOp(), tensor, "after", after), tensor);
    }

    void permute(Tensor tensor, List<Integer> axes, Slot to) {
      add(plan(new PermuteOp(), tensor, "axes", axes), tensor.slot, to);
    }

    private Tensor copied(LaunchPlan plan, Tensor from) {
      var type = plan.outputs().values().iterator().next();
      var copy = new Tensor(type, allocate(type));
      add(plan, from.slot, copy.slot);
      return copy;
    }

    private LaunchPlan plan(Op op, Tensor tensor, String attribute, List<Integer> values) {
      var attributes = Attributes.of(op.description(), Map.of(attribute, values));
      return (LaunchPlan) op.plan(Map.of("x", tensor.type), attributes, capability);
    }

    private void add(LaunchPlan plan, Slot from, Slot to) {
      bytes += plan.cost().bytes();
      for (var step : plan.steps()) {
        steps.add(
            step.map(slot ->
                switch (slot) {
                  case Slot.Input(_, var offset) -> from.advanced(offset);
                  case Slot.Output(_, var offset) -> to.advanced(offset);
                  default -> slot;
                }));
      }
    }
  }
}
