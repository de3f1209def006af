package dev.athanor.ops.row.rope;

import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import java.util.List;
import java.util.Optional;

/**
 * The source of the cosines and sines of a rotary embedding: inputs, or a base from which a kernel
 * computes them first.
 *
 * @param dtype dtype of the tables
 * @param rows number of positions in the tables
 * @param half number of angles per position
 * @param period number of rows of x after which the positions repeat
 * @param positions whether the input {@code positions} is given
 * @param theta the base if the tables are not inputs
 */
record RopeTables(
    DType dtype, int rows, int half, int period, boolean positions, Optional<Double> theta) {

  /**
   * Returns the tables that are inputs.
   *
   * @param sequence number of positions of x
   * @param half number of angles per position
   */
  static RopeTables given(BoundInputs call, int sequence, int period, int half) {
    boolean positions = call.has("positions");
    var shape = call.type("cos").shape();
    long least = positions ? 1 : sequence;
    if (shape.extent(1) != half || shape.extent(0) < least) {
      throw new OpException.ShapeMismatch(
          "cos",
          "cos has shape %s; it must be [P, %d] with P of at least %d"
              .formatted(shape, half, least));
    }
    return new RopeTables(
        call.dtype("cos"),
        Checks.requireExtent("cos", call.type("cos"), shape.extent(0)),
        half,
        period,
        positions,
        Optional.empty());
  }

  long workspaceBytes() {
    return theta.isEmpty() ? 0 : 2 * bytes();
  }

  private long bytes() {
    return (long) period * half * dtype.bytes();
  }

  Slot cos() {
    return theta.isEmpty() ? Slot.input("cos") : new Slot.Workspace(0);
  }

  Slot sin() {
    return theta.isEmpty() ? Slot.input("sin") : new Slot.Workspace(bytes());
  }

  /**
   * Returns whether the rotating kernel reads positions; computed tables are already in their
   * order.
   */
  boolean indexed() {
    return positions && theta.isEmpty();
  }

  /** Returns the launch that computes the tables; empty if they are inputs. */
  List<Step> steps() {
    if (theta.isEmpty()) {
      return List.of();
    }
    double step = -Math.log(theta.get()) / Math.log(2) / half;
    var arguments =
        Arguments.NONE
            .with("cos", cos())
            .with("sin", sin())
            .with("rows", period)
            .with("half", half)
            .with("step", step);
    return List.of(
        new Step(
            new RopeTable(dtype, positions),
            Dim3.of(Math.ceilDiv(period * half, RopeTable.THREADS)),
            RopeTable.THREADS,
            0,
            positions ? arguments.inputs("positions") : arguments));
  }
}
