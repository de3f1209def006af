package dev.athanor.ops.move;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
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
import java.util.Objects;
import java.util.Optional;

/**
 * Plans strided copies: a launch for each region, in order. A region whose rows of y are columns of
 * x is transposed in tiles in shared memory; the others are copied by the elementwise kernel.
 *
 * @param op name of the op, for messages
 * @param outputs by name, all of one dtype, which is that of the inputs
 * @param regions at least one
 */
record CopyPlanner(
    String op,
    Map<String, TensorType> inputs,
    Map<String, TensorType> outputs,
    List<Region> regions) {

  /**
   * Minimum number of rows of x for which tiles are used: with fewer, most of a tile is empty. For
   * three rows of f16, the emulator predicts 141 µs on an H200 where the elementwise kernel takes
   * 5.
   */
  private static final int MIN_ROWS = 8;

  /**
   * Minimum number of columns of x for which tiles are used: with fewer, reading a sector again for
   * each column costs less than a tile that is almost empty.
   */
  private static final int MIN_COLUMNS = 4;

  CopyPlanner {
    regions = List.copyOf(regions);
  }

  private DType dtype() {
    return outputs.values().iterator().next().dtype();
  }

  /**
   * Returns the integer argument that fills an output with a number.
   *
   * @throws OpException.InvalidAttribute if the dtype cannot represent the number
   */
  static Slot constant(DType dtype, String attribute, double value) {
    try {
      long bits =
          ElementwiseSteps.ofSameSize(dtype)
              .readLong(HostTensor.of(TensorType.of(dtype), value).data(), 0);
      return dtype.bytes() == 8 ? Slot.of(bits) : Slot.of((int) bits);
    } catch (IllegalArgumentException e) {
      throw new OpException.InvalidAttribute(
          attribute,
          "attribute \"%s\" is %s, which %s cannot represent; give a number in its range"
              .formatted(attribute, value, dtype.text()));
    }
  }

  List<LaunchPlan> plans(Capability capability) {
    var candidates = new Candidates("%s of %s".formatted(op, dtype().text()), capability);
    double elements = 0;
    var steps = new ArrayList<Step>();
    for (var region : regions) {
      elements += (double) region.elements() + region.read();
      steps.addAll(steps(region, steps.size()));
    }
    var cost = new Plan.Cost(0, elements * dtype().bytes());
    var first = steps.getFirst();
    candidates.offer(
        first.variant().name(),
        op, // copies are exact
        Machine.of(capability).streaming(steps.size(), cost.bytes()),
        "%d launches, the first of %d blocks".formatted(steps.size(), first.grid().x()),
        steps,
        0);
    return candidates.plans(outputs, cost);
  }

  /**
   * Returns the launches of a region.
   *
   * @param earlier number of launches of earlier regions
   */
  private List<Step> steps(Region region, int earlier) {
    boolean fills = region.source() instanceof Slot.Scalar;
    var loops =
        fills
            ? Loops.of(1, region.loops().stream().map(CopyPlanner::ofOutput).toList())
            : Loops.of(2, region.loops());
    var tiles = fills ? Optional.<Tiles>empty() : Tiles.of(loops);
    if (tiles.isPresent()) {
      return List.of(tiled(region, tiles.get()));
    }
    var output = Objects.requireNonNull(outputs.get(region.output()));
    Checks.requireLaunches(
        region.output(),
        "%s as output \"%s\"".formatted(output.text(), region.output()),
        earlier + loops.elements() / ElementwiseSteps.MOST);
    int bytes = dtype().bytes();
    return ElementwiseSteps.copy(
            op,
            loops,
            source(region),
            new Slot.Output(region.output(), region.at() * bytes),
            ElementwiseSteps.ofSameSize(dtype()))
        .steps();
  }

  private static Loop ofOutput(Loop loop) {
    return new Loop(loop.count(), List.of(loop.strides().getLast()));
  }

  private Slot source(Region region) {
    long bytes = region.from() * dtype().bytes();
    return switch (region.source()) {
      case Slot.Input(var name, _) -> new Slot.Input(name, bytes);
      case Slot.Output(var name, _) -> new Slot.Output(name, bytes);
      case Slot.Scalar scalar -> scalar;
      case Slot.Workspace _, Slot.Tensor _ ->
          throw new IllegalArgumentException("copies are from inputs and outputs");
    };
  }

  /**
   * Matrices to transpose.
   *
   * @param down the loop along which y is contiguous: the rows of x
   * @param along the loop along which x is contiguous: the columns of x
   * @param inner the inner loop over matrices
   * @param outer the outer loop over matrices
   */
  private record Tiles(Loop down, Loop along, Loop inner, Loop outer) {

    private static final Loop ONCE = new Loop(1, List.of(0L, 0L));

    /** Returns the matrices of a copy; empty if it is no transpose of at most two batch loops. */
    static Optional<Tiles> of(Loops loops) {
      var batch = new ArrayList<>(loops.loops());
      var down = batch.removeLast();
      var along = batch.stream().filter(loop -> loop.strides().getFirst() == 1).findFirst();
      boolean transposes =
          down.strides().getFirst() > 1
              && down.strides().getLast() == 1
              && down.count() >= MIN_ROWS
              && along.filter(loop -> loop.count() >= MIN_COLUMNS).isPresent();
      if (!transposes || batch.size() > 3) {
        return Optional.empty();
      }
      batch.remove(along.get());
      while (batch.size() < 2) {
        batch.addFirst(ONCE);
      }
      return Optional.of(new Tiles(down, along.get(), batch.getLast(), batch.getFirst()));
    }

    long x() {
      return pitches(0) | along.count();
    }

    long y() {
      return pitches(1) | down.count();
    }

    private long pitches(int tensor) {
      return (tensor == 0 ? down : along).strides().get(tensor)
          | inner.strides().get(tensor)
          | outer.strides().get(tensor);
    }
  }

  /** Returns a launch that transposes matrices. */
  private Step tiled(Region region, Tiles tiles) {
    int bytes = dtype().bytes();
    int widest = TransposeVariant.widest(bytes);
    var variant =
        new TransposeVariant(
            bytes,
            Transposes.divisor(widest, tiles.x() | region.from()),
            Transposes.divisor(widest, tiles.y() | region.at()));
    var name = region.source() instanceof Slot.Input(var input, _) ? input : region.output();
    var shape =
        Objects.requireNonNull(inputs.containsKey(name) ? inputs.get(name) : outputs.get(name))
            .shape();
    long blocks =
        Math.ceilDiv(tiles.down.count(), variant.tile())
            * Math.ceilDiv(tiles.along.count(), variant.tile())
            * tiles.inner.count()
            * tiles.outer.count();
    return new Step(
        variant,
        Dim3.of(Checks.count(name, shape, blocks)),
        TransposeVariant.THREADS,
        0,
        Arguments.NONE
            .with("x", source(region))
            .with("y", new Slot.Output(region.output(), region.at() * bytes))
            .with("rows", Checks.count(name, shape, tiles.down.count()))
            .with("columns", Checks.count(name, shape, tiles.along.count()))
            .with("pitchX", Checks.count(name, shape, tiles.down.strides().getFirst()))
            .with("pitchY", Checks.count(name, shape, tiles.along.strides().getLast()))
            .with("inner", Checks.count(name, shape, tiles.inner.count()))
            .with("innerX", (long) tiles.inner.strides().getFirst())
            .with("innerY", (long) tiles.inner.strides().getLast())
            .with("outerX", (long) tiles.outer.strides().getFirst())
            .with("outerY", (long) tiles.outer.strides().getLast()));
  }
}
