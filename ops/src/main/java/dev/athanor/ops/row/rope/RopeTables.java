package dev.athanor.ops.row.rope;

import dev.athanor.engine.device.Dim3;
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
 * Where a rotary embedding has its cosines and sines from: inputs, or a base from which a kernel
 * makes them first.
 *
 * @param dtype of cosines and sines
 * @param rows how many positions there are angles for
 * @param half angles of a position
 * @param period after how many rows of x the positions begin anew
 * @param positions whether each row of a period says which row of the tables is its own
 * @param theta the base, where there are no inputs
 */
record RopeTables(
    DType dtype, int rows, int half, int period, boolean positions, Optional<Double> theta) {

  /**
   * Checks cosines and sines that were given.
   *
   * @param sequence the positions of x
   * @param shape that of the tables, in words
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

  /** Whether the kernel that turns reads positions; tables that were made are in their order. */
  boolean indexed() {
    return positions && theta.isEmpty();
  }

  /** The launch that makes the tables, where they are not given. */
  List<Step> steps() {
    if (theta.isEmpty()) {
      return List.of();
    }
    double step = -Math.log(theta.get()) / Math.log(2) / half;
    return List.of(
        new Step(
            new RopeTable(positions),
            Dim3.of(Math.ceilDiv(period * half, RopeTable.THREADS)),
            RopeTable.THREADS,
            0,
            List.of(
                cos(),
                sin(),
                // a kernel without positions never reads the pointer
                positions ? Slot.input("positions") : cos(),
                Slot.of(period),
                Slot.of(half),
                Slot.of(step))));
  }
}
