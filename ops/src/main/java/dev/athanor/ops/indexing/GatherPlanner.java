package dev.athanor.ops.indexing;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import java.util.List;
import java.util.Map;

/**
 * Plans a gather in one launch.
 *
 * @param op name of the op, for messages
 */
record GatherPlanner(
    String op, TensorType x, TensorType index, Indices indices, TensorType output) {

  List<LaunchPlan> plans(Capability capability) {
    var lookup = indices.lookup();
    long sliceBytes = lookup.width() * x.dtype().bytes();
    int access = (int) Math.min(16, Long.lowestOneBit(sliceBytes));
    var variant = new SliceVariant(access, LookupCode.of(index.dtype(), lookup));
    int perSlice = Checks.count("x", x.shape(), sliceBytes / access);
    int accesses = Checks.requireThreads("index", index, lookup.positions() * perSlice);
    var step =
        new Step(
            variant,
            Dim3.of(Math.ceilDiv(accesses, SliceVariant.THREADS * SliceVariant.DEPTH)),
            SliceVariant.THREADS,
            0,
            Arguments.ofInputs("x")
                .outputs("y")
                .with("count", accesses)
                .with("perSlice", perSlice)
                .with(lookup.arguments()));
    var candidates = new Candidates("%s of %s".formatted(op, x.dtype().text()), capability);
    var cost = new Plan.Cost(0, index.bytes() + 2.0 * output.bytes());
    if (candidates.runs(Target.SM_80, variant.name())) {
      candidates.offer(
          Machine.of(capability).streaming(cost.bytes()),
          "%d slices of %d accesses each".formatted(lookup.positions(), perSlice),
          step);
    }
    return candidates.plans(Map.of("y", output), cost);
  }
}
