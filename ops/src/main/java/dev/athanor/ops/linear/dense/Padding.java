package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The factors read by a kernel: the inputs, or copies in the workspace with rows padded to
 * multiples of 16 bytes.
 *
 * @param steps a launch for each copy
 * @param bytes read and written by the copies
 * @param workspaceBytes of the copies
 */
record Padding(Source a, Source b, List<Step> steps, double bytes, long workspaceBytes) {

  /**
   * Copies take at most this fraction (1/n) of the device's memory, which also holds the inputs.
   */
  private static final int MEMORY_SHARE = 8;

  /** The alignment of workspace offsets, that of allocations. */
  private static final long ALIGNMENT = 256;

  Padding {
    steps = List.copyOf(steps);
  }

  /** Returns the inputs without copies. */
  static Padding none(MatmulProblem problem) {
    return new Padding(Source.ofA(problem), Source.ofB(problem), List.of(), 0, 0);
  }

  /**
   * Returns copies of the inputs whose rows are not multiples of 16 bytes; empty if there are none,
   * if they have too many rows for a launch, or if they take too much memory.
   */
  static Optional<Padding> of(MatmulProblem problem, Capability device) {
    var batch = problem.batch();
    var padding = none(problem);
    boolean fits =
        Math.max(batch.matricesOfA() * padding.a.rows(), batch.matricesOfB() * padding.b.rows())
            <= Integer.MAX_VALUE;
    if (!fits || batch.products() == 0) {
      return Optional.empty();
    }
    if (padding.a.operand().access() < PadVariant.ALIGNMENT) {
      padding = padding.with(padding.a, batch.matricesOfA());
    }
    if (padding.b.operand().access() < PadVariant.ALIGNMENT) {
      padding = padding.with(padding.b, batch.matricesOfB());
    }
    return padding.steps.isEmpty() || padding.workspaceBytes > device.memoryBytes() / MEMORY_SHARE
        ? Optional.empty()
        : Optional.of(padding);
  }

  /** Adds a copy of one of the factors. */
  private Padding with(Source source, long matrices) {
    int bytes = source.operand().dtype().bytes();
    var variant = new PadVariant(bytes);
    var copy = source.copied(PadVariant.pitch(source.leadingDimension(), bytes), workspaceBytes);
    long written = matrices * copy.matrix() * bytes;
    var all = new ArrayList<>(steps);
    all.add(
        variant.step(
            Slot.input(source.input()),
            new Slot.Workspace(workspaceBytes),
            Math.toIntExact(matrices * source.rows()),
            source.leadingDimension()));
    return new Padding(
        source.equals(a) ? copy : a,
        source.equals(b) ? copy : b,
        all,
        this.bytes + matrices * source.matrix() * bytes + written,
        workspaceBytes + Math.ceilDiv(written, ALIGNMENT) * ALIGNMENT);
  }

  /** Returns a name suffix that distinguishes the plan from one without copies. */
  String suffix() {
    return steps.isEmpty() ? "" : "_padded";
  }

  /** Returns a description of the copies for the explanation. */
  String explanation() {
    return steps.isEmpty() ? "" : ", after %d padding copies".formatted(steps.size());
  }

  /** Returns the time of the copies. */
  double microseconds(Machine machine) {
    return steps.isEmpty() ? 0 : machine.streaming(steps.size(), bytes);
  }
}
