package dev.athanor.ops.indexing;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.map.ElementwiseSteps;
import dev.athanor.ops.map.Loops;
import dev.athanor.ops.map.Loops.Loop;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Plans a scatter: copies x to y, sorts the N updates by the slice that they name and by their
 * position, and writes the slices. The launches are deterministic, whatever indices repeat: a merge
 * sort of 64-bit keys, in blocks and then in ⌈log2(N / 256)⌉ launches, takes O(N log² N)
 * operations. With a reduction, one thread per element walks the updates of a slice, so that the
 * time of the last launch grows with the most updates that name one slice.
 *
 * @param op name of the op, for messages
 */
record ScatterPlanner(
    String op,
    TensorType x,
    TensorType index,
    Indices indices,
    ScatterReduction reduction,
    Plan.Cost cost) {

  /** Maximum number of positions, so that the search computes in 32 bits. */
  private static final long MOST = 1L << 30;

  private static final int KEY_BYTES = 8;
  private static final long ALIGNMENT = 256;

  List<LaunchPlan> plans(Capability capability) {
    var lookup = indices.lookup();
    if (lookup.positions() > MOST) {
      throw new OpException.TooLarge(
          "index",
          "index has shape %s with %d positions; the maximum is 2^30"
              .formatted(index.shape(), lookup.positions()));
    }
    int count = (int) lookup.positions();
    long keyBytes = Math.ceilDiv((long) count * KEY_BYTES, ALIGNMENT) * ALIGNMENT;
    var steps = new ArrayList<>(copy());
    steps.add(sort(lookup, count));
    long from = 0;
    for (int run = KeySortVariant.RUN; run < count; run *= 2) {
      steps.add(merge(count, run, from, keyBytes - from));
      from = keyBytes - from;
    }
    var last = write(lookup, count, from);
    steps.add(last);
    var name = last.variant().name();
    var candidates = new Candidates("%s of %s".formatted(op, x.dtype().text()), capability);
    double sorted = 2.0 * KEY_BYTES * count * (steps.size() - 1);
    candidates.offer(
        name,
        Machine.of(capability).streaming(steps.size(), cost.bytes() + sorted),
        "%d launches for %d updates of %d elements".formatted(steps.size(), count, lookup.width()),
        steps,
        2 * keyBytes);
    return candidates.plans(Map.of("y", x), cost);
  }

  private List<Step> copy() {
    long elements = x.shape().elements();
    Checks.requireLaunches("x", x.text() + " as input \"x\"", elements / ElementwiseSteps.MOST);
    return ElementwiseSteps.copy(
            op,
            Loops.of(2, List.of(new Loop(elements, List.of(1L, 1L)))),
            Slot.input("x"),
            new Slot.Output("y", 0),
            ElementwiseSteps.ofSameSize(x.dtype()))
        .steps();
  }

  private Step sort(Lookup lookup, int count) {
    return new Step(
        new KeySortVariant(LookupCode.of(index.dtype(), lookup)),
        Dim3.of(Math.ceilDiv(count, KeySortVariant.RUN)),
        KeySortVariant.RUN,
        0,
        lookup
            .arguments(Slot.input("index"))
            .with("keys", new Slot.Workspace(0))
            .with("count", count)
            .with("slices", lookup.slices()));
  }

  private static Step merge(int count, int run, long from, long to) {
    return new Step(
        new KeyMergeVariant(),
        Dim3.of(Math.ceilDiv(count, KeyMergeVariant.THREADS)),
        KeyMergeVariant.THREADS,
        0,
        Arguments.NONE
            .with("keys", new Slot.Workspace(from))
            .with("merged", new Slot.Workspace(to))
            .with("count", count)
            .with("run", run)
            .with("steps", searchSteps(run)));
  }

  private Step write(Lookup lookup, int count, long keys) {
    boolean copies = reduction == ScatterReduction.NONE;
    var dtype = copies ? ElementwiseSteps.ofSameSize(x.dtype()) : x.dtype();
    long widest = copies ? 16 / dtype.bytes() : 1;
    var variant =
        new ScatterVariant(dtype, reduction, (int) Long.lowestOneBit(lookup.width() | widest));
    int perSlice = Checks.count("x", x.shape(), lookup.width() / variant.vector());
    int accesses = Checks.requireThreads("index", index, (long) count * perSlice);
    return new Step(
        variant,
        Dim3.of(Math.ceilDiv(accesses, ScatterVariant.THREADS)),
        ScatterVariant.THREADS,
        0,
        Arguments.ofInputs("x", "updates")
            .outputs("y")
            .with("keys", new Slot.Workspace(keys))
            .with("count", count)
            .with("accesses", accesses)
            .with("perSlice", perSlice)
            .with("slices", Checks.count("x", x.shape(), lookup.slices()))
            .with("steps", searchSteps(count)));
  }

  /** Returns the number of steps of a binary search. */
  private static int searchSteps(int keys) {
    return Integer.SIZE - Integer.numberOfLeadingZeros(keys);
  }
}
