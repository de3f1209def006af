package dev.athanor.ops.indexing;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import java.util.List;
import java.util.Map;

/**
 * Plans a gather in one launch.
 *
 * @param input name of x
 */
record GatherPlanner(String input, TensorType x, Lookup lookup) {

  /**
   * Offers the only plan of an op.
   *
   * @param op its name, for messages
   */
  List<LaunchPlan> plans(String op, TensorType index, TensorType output, Capability capability) {
    var step = step(Indices.INDEX, index, Slot.input(Indices.INDEX), index.dtype());
    var candidates = new Candidates("%s of %s".formatted(op, x.dtype().text()), capability);
    var cost = new Plan.Cost(0, index.bytes() + 2.0 * output.bytes());
    candidates.offer(
        Machine.of(capability).streaming(cost.bytes()),
        "%d slices of %d accesses each"
            .formatted(lookup.positions(), sliceBytes() / access(sliceBytes())),
        step);
    return candidates.plans(Map.of("y", output), cost);
  }

  /**
   * Returns the launch.
   *
   * @param given name of the input that a message about the number of threads shows
   * @param indices the index
   * @param dtype of the index
   */
  Step step(String given, TensorType type, Slot indices, DType dtype) {
    int access = access(sliceBytes());
    int perSlice = Checks.count(input, x.shape(), sliceBytes() / access);
    int accesses = Checks.requireThreads(given, type, lookup.positions() * perSlice);
    return new Step(
        new SliceVariant(access, LookupCode.of(dtype, lookup)),
        Dim3.of(Math.ceilDiv(accesses, SliceVariant.THREADS * SliceVariant.DEPTH)),
        SliceVariant.THREADS,
        0,
        Arguments.NONE
            .with("x", Slot.input(input))
            .outputs("y")
            .with("count", accesses)
            .with("perSlice", perSlice)
            .with(lookup.arguments(indices)));
  }

  private long sliceBytes() {
    return lookup.width() * x.dtype().bytes();
  }

  /** Returns the bytes of the widest access to which slices of this size are aligned. */
  static int access(long sliceBytes) {
    return (int) Math.min(16, Long.lowestOneBit(sliceBytes));
  }
}
