package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Source;
import dev.athanor.ops.move.Transposes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The factors read by a kernel: the inputs, or copies in the workspace with rows padded to
 * multiples of 16 bytes, or transposed so that rows run along K.
 *
 * @param kind of the copies
 * @param steps a launch for each copy
 * @param bytes read and written by the copies
 * @param workspaceBytes of the copies
 */
record Padding(Kind kind, Source a, Source b, List<Step> steps, double bytes, long workspaceBytes) {

  /** What copies are for. */
  enum Kind {
    PADDING,
    TRANSPOSING
  }

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
    return none(problem, Kind.PADDING);
  }

  private static Padding none(MatmulProblem problem, Kind kind) {
    return new Padding(kind, Source.ofA(problem), Source.ofB(problem), List.of(), 0, 0);
  }

  /**
   * Returns copies of the inputs whose rows are not multiples of 16 bytes; empty if there are none,
   * if they have too many rows for a launch, or if they take too much memory.
   */
  static Optional<Padding> of(MatmulProblem problem, Capability device) {
    return of(problem, device, Kind.PADDING);
  }

  /**
   * Returns transposed copies of the inputs whose rows do not run along K, as {@link #of}. Some
   * instructions for bytes require such rows.
   */
  static Optional<Padding> alongDepth(MatmulProblem problem, Capability device) {
    return of(problem, device, Kind.TRANSPOSING);
  }

  private static Optional<Padding> of(MatmulProblem problem, Capability device, Kind kind) {
    var batch = problem.batch();
    var padding = none(problem, kind);
    boolean fits =
        Math.max(batch.matricesOfA() * padding.a.rows(), batch.matricesOfB() * padding.b.rows())
            <= Integer.MAX_VALUE;
    if (!fits || batch.products() == 0) {
      return Optional.empty();
    }
    if (padding.copies(padding.a, padding.a.operand().transposed())) {
      padding = padding.with(padding.a, batch.matricesOfA());
    }
    if (padding.copies(padding.b, !padding.b.operand().transposed())) {
      padding = padding.with(padding.b, batch.matricesOfB());
    }
    return padding.steps.isEmpty() || padding.workspaceBytes > device.memoryBytes() / MEMORY_SHARE
        ? Optional.empty()
        : Optional.of(padding);
  }

  /**
   * Returns whether a kernel needs a copy of a factor.
   *
   * @param across whether its rows do not run along K
   */
  private boolean copies(Source source, boolean across) {
    return kind == Kind.PADDING ? source.operand().access() < PadVariant.ALIGNMENT : across;
  }

  /** Adds a copy of one of the factors. */
  private Padding with(Source source, long matrices) {
    int bytes = source.operand().dtype().bytes();
    int rows = Math.toIntExact(source.rows());
    int columns = source.leadingDimension();
    var to = new Slot.Workspace(workspaceBytes);
    var from = Slot.input(source.input());
    int pitch = PadVariant.pitch(kind == Kind.PADDING ? columns : rows, bytes);
    var copy =
        kind == Kind.PADDING
            ? source.copied(pitch, workspaceBytes)
            : source.transposed(pitch, workspaceBytes);
    long written = matrices * copy.matrix() * bytes;
    var all = new ArrayList<>(steps);
    all.add(
        kind == Kind.PADDING
            ? new PadVariant(bytes).step(from, to, Math.toIntExact(matrices * rows), columns)
            : Transposes.step(bytes, from, to, rows, columns, pitch, Math.toIntExact(matrices)));
    return new Padding(
        kind,
        source.equals(a) ? copy : a,
        source.equals(b) ? copy : b,
        all,
        this.bytes + matrices * source.matrix() * bytes + written,
        workspaceBytes + Math.ceilDiv(written, ALIGNMENT) * ALIGNMENT);
  }

  /** Returns a name suffix that distinguishes the plan from one without copies. */
  String suffix() {
    return steps.isEmpty() ? "" : kind == Kind.PADDING ? "_padded" : "_transposed";
  }

  /** Returns a description of the copies for the explanation. */
  String explanation() {
    return steps.isEmpty()
        ? ""
        : ", after %d %s copies"
            .formatted(steps.size(), kind == Kind.PADDING ? "padding" : "transposing");
  }

  /** Returns the time of the copies. */
  double microseconds(Machine machine) {
    return steps.isEmpty() ? 0 : machine.streaming(steps.size(), bytes);
  }
}
