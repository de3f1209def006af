package dev.athanor.ops.row.rope;

import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.row.RowShape;
import java.util.List;
import java.util.Map;
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
   * Checks the inputs {@code cos} and {@code sin}.
   *
   * @param sequence number of positions of x
   * @param shape the required shape in words
   */
  static RopeTables given(
      RowShape x,
      Map<String, TensorType> inputs,
      int sequence,
      int period,
      int half,
      String shape) {
    var cos = RowShape.input(inputs, "cos");
    var sin = RowShape.input(inputs, "sin");
    if (!cos.equals(sin)) {
      throw new OpException.ShapeMismatch(
          "sin", "sin is %s but cos is %s; they must be the same".formatted(sin, cos));
    }
    boolean positions = inputs.containsKey("positions");
    long least = positions ? 1 : sequence;
    if (cos.shape().rank() != 2 || cos.shape().extent(1) != half || cos.shape().extent(0) < least) {
      throw new OpException.ShapeMismatch(
          "cos",
          "cos has shape %s; it must be %s = [%s, %d]"
              .formatted(cos.shape(), shape, positions ? "any" : least + " or more", half));
    }
    var rows = RowShape.of(inputs, "cos").rows();
    return new RopeTables(x.shared(inputs, "cos"), rows, half, period, positions, Optional.empty());
  }

  long workspaceBytes() {
    return theta.isEmpty() ? 0 : 2 * bytes();
  }

  private long bytes() {
    return (long) period * half * Float.BYTES;
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
            new RopeTable(positions),
            Dim3.of(Math.ceilDiv(period * half, RopeTable.THREADS)),
            RopeTable.THREADS,
            0,
            positions ? arguments.inputs("positions") : arguments));
  }
}
