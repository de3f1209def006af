package dev.athanor.engine.debug;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.debug.expression.Bound;
import dev.athanor.engine.debug.expression.EvaluationException;
import dev.athanor.engine.debug.expression.Scope;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.watch.BlockState;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Tells a run what the blocks of one rank do. */
final class Probe implements Observer, FrameScope.RunningBlock {
  private static final int NOWHERE = -1;

  /**
   * A breakpoint at an instruction.
   *
   * @param condition null = none
   */
  private record ArmedBreakpoint(Breakpoint breakpoint, @Nullable Bound condition) {}

  private final Run run;
  private final Observed observed;
  private final LaunchGeometry geometry;
  private final Map<String, Register> registers = new HashMap<>();

  /** The last instruction of each warp. */
  private final int[] previous;

  /** Whether each warp begins a line with its current instruction. */
  private final boolean[] arrived;

  /** The frame of each instruction, those of the emulator's own instructions included. */
  private final List<Optional<SourceFrame>> frames = new ArrayList<>();

  private @Nullable BlockState state;
  private long block;

  /** The breakpoints that {@link #byInstruction} was made for. */
  private List<Breakpoint> known = List.of();

  private @Nullable List<List<ArmedBreakpoint>> byInstruction;

  Probe(Run run, Observed observed) {
    this.run = run;
    this.observed = observed;
    this.geometry =
        new LaunchGeometry(
            observed.kernel().name(), observed.grid(), observed.block(), observed.cluster());
    this.previous = new int[geometry.warps()];
    this.arrived = new boolean[geometry.warps()];
    observed.kernel().registers().forEach(register -> registers.put(register.name(), register));
    int written = 0;
    for (int number = 0; number < observed.instructions().size(); number++) {
      frames.add(run.symbols().frame(written));
      written += observed.added().contains(number) ? 0 : 1;
    }
  }

  /** Returns the source-level frame of an instruction. */
  Optional<SourceFrame> frame(int number) {
    return frames.get(number);
  }

  @Override
  public BlockState state() {
    return requireNonNull(state);
  }

  @Override
  public Observed observed() {
    return observed;
  }

  LaunchGeometry geometry() {
    return geometry;
  }

  @Override
  public long block() {
    return block;
  }

  /** Returns the registers of the kernel by name. */
  Map<String, Register> registers() {
    return registers;
  }

  @Override
  public void attach(BlockState attached) {
    state = attached;
  }

  @Override
  public void begin(long number) {
    block = number;
    Arrays.fill(previous, NOWHERE);
    run.began(this);
  }

  @Override
  public void end() {
    run.checkFinding(this);
    run.ended(this);
  }

  @Override
  public void execute(int number, int warp, int active, int chosen) {
    if (warp == state().first()) {
      for (int each = warp; each < state().end(); each++) {
        arrived[each] = isNewLine(previous[each], number);
        previous[each] = number;
      }
      run.step(this, number);
    }
    run.checkFinding(this);
  }

  @Override
  public void touch(MemoryRequest request) {
    run.touch(this, request);
  }

  @Override
  public void touched(MemoryRequest request) {
    run.checkFinding(this);
  }

  @Override
  public void reportViolation(
      Report.Kind kind, int thread, Instruction instruction, String what, String remedy) {
    run.checkFinding(this);
  }

  @Override
  public void found(Report report) {
    run.found(report);
  }

  @Override
  public void failed(List<Report> reports) {
    run.failed(this, reports);
  }

  private boolean isNewLine(int before, int now) {
    if (before == NOWHERE) {
      return true;
    }
    var from = frame(before);
    var to = frame(now);
    if (from.isPresent() && to.isPresent() && from.get().isCalledFrom(to.get())) {
      return false; // a call has returned to the line that it was made from
    }
    return isSameLine(before, now) ? now <= before && isFirstOfLine(now) : true;
  }

  /** Returns whether two instructions are of one line of one call. */
  private boolean isSameLine(int a, int b) {
    var from = observed.instructions().get(a).source();
    var to = observed.instructions().get(b).source();
    return from.line() == to.line()
        && from.file().equals(to.file())
        && frame(a).map(SourceFrame::call).equals(frame(b).map(SourceFrame::call));
  }

  /** Returns whether a jump to an instruction begins its line again; in PTX, each jump does. */
  private boolean isFirstOfLine(int number) {
    return frame(number).isEmpty()
        || IntStream.range(0, number).noneMatch(each -> isSameLine(each, number));
  }

  boolean arrives(int warp) {
    return arrived[warp];
  }

  /** Returns the breakpoints at an instruction whose conditions hold for a lane. */
  List<Breakpoint> hits(int number, int warp, int lanes) {
    var all = run.breakpoints();
    if (byInstruction == null || !known.equals(all)) {
      known = all;
      byInstruction =
          IntStream.range(0, observed.instructions().size())
              .mapToObj(each -> armed(each, all))
              .toList();
    }
    var here = byInstruction.get(number);
    return here.isEmpty()
        ? List.of()
        : here.stream()
            .filter(each -> holds(each, warp, lanes))
            .map(ArmedBreakpoint::breakpoint)
            .toList();
  }

  /** Returns the breakpoints at an instruction, without those whose names have no values there. */
  private List<ArmedBreakpoint> armed(int number, List<Breakpoint> all) {
    var found = new ArrayList<ArmedBreakpoint>();
    for (var point : all) {
      if (point.isAt(observed.instructions().get(number).source())) {
        var condition = point.condition();
        try {
          found.add(
              new ArmedBreakpoint(
                  point, condition == null ? null : condition.bind(scope(frame(number)))));
        } catch (IllegalArgumentException e) {
          if (frames.stream().allMatch(Optional::isEmpty)) {
            // names of Java may have values at other instructions
            run.note(point, String.valueOf(e.getMessage()));
          }
        }
      }
    }
    return found;
  }

  private boolean holds(ArmedBreakpoint armed, int warp, int lanes) {
    if (armed.condition == null) {
      return true;
    }
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = Warps.firstThread(warp, left);
      try {
        if ((boolean) armed.condition.value(thread)) {
          return true;
        }
      } catch (EvaluationException e) {
        run.note(armed.breakpoint, String.valueOf(e.getMessage()));
      }
    }
    return false;
  }

  /** Returns the names that expressions can use in a frame. */
  Scope scope(Optional<SourceFrame> frame) {
    return new FrameScope(registers, frame, this);
  }

  @Override
  public BlockMemory memory() {
    return new BlockMemory(observed, state(), run.buffers());
  }
}
