package dev.athanor.engine.debug;

import dev.athanor.engine.debug.Outcome.Ended;
import dev.athanor.engine.debug.Outcome.Stopped;
import dev.athanor.engine.debug.Stop.Reason;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import dev.athanor.engine.ptx.symbol.SourceVariable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A debugger of a {@link Debuggee}. Launches on the emulator with one worker and one seed are
 * identical, so a step is identified by its number, and the debugger goes back by repeating the
 * launches up to an earlier step.
 *
 * <p>Commands run one after the other; each returns its outcome when the launches have stopped or
 * ended. While they are stopped, {@link #state} reads them.
 */
public final class DebugSession implements AutoCloseable {

  private final Debuggee debuggee;
  private final Consumer<String> output;
  private final ExecutorService commands =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("debugger").factory());
  private volatile List<Breakpoint> breakpoints = List.of();
  private volatile @Nullable Run run;
  private volatile @Nullable Stop stop;

  /**
   * @param output receives what kernels print
   */
  public DebugSession(Debuggee debuggee, Consumer<String> output) {
    this.debuggee = debuggee;
    this.output = output;
  }

  /** Replaces all breakpoints. */
  public void setBreakpoints(List<Breakpoint> all) {
    breakpoints = List.copyOf(all);
  }

  /** Returns the first line, from a line of a file on, that has instructions. */
  public OptionalInt lineFrom(String file, int line) {
    int first = Integer.MAX_VALUE;
    for (var instruction : debuggee.instructions()) {
      for (var at = instruction.source(); at != null; at = at.origin()) {
        if (at.file().equals(file) && at.line() >= line) {
          first = Math.min(first, at.line());
        }
      }
    }
    return first == Integer.MAX_VALUE ? OptionalInt.empty() : OptionalInt.of(first);
  }

  /**
   * Checks the names and types of a breakpoint's condition. The names of buffers and arrays of PTX
   * are known only when the launch begins.
   *
   * @throws IllegalArgumentException if a name does not exist or a type is wrong
   */
  public void check(Breakpoint breakpoint) {
    var condition = breakpoint.condition();
    if (condition == null) {
      return;
    }
    var registers = new HashMap<String, Register>();
    debuggee.instructions().stream()
        .flatMap(each -> Stream.concat(each.reads().stream(), each.writes().stream()))
        .forEach(each -> registers.put(each.name(), each));
    var frames = framesAt(breakpoint);
    if (frames.isEmpty()) {
      checkRegisters(condition, new FrameScope(registers, Optional.empty(), null));
      return;
    }
    IllegalArgumentException failure = null;
    for (var frame : frames) {
      try {
        condition.bind(new FrameScope(registers, Optional.of(frame), null));
        return;
      } catch (IllegalArgumentException e) {
        failure = failure == null ? e : failure;
      }
    }
    condition
        .expression()
        .names()
        .filter(name -> !FrameScope.INDICES.containsKey(name) && !name.startsWith("%"))
        .forEach(name -> checkVariable(name, frames, registers, breakpoint));
    throw failure;
  }

  private static void checkRegisters(Condition condition, FrameScope scope) {
    boolean hasOthers = false;
    for (var name : condition.expression().names().toList()) {
      try {
        scope.find(name);
      } catch (IllegalArgumentException e) {
        if (name.startsWith("%")) {
          throw new IllegalArgumentException("the kernel has no register " + name, e);
        }
        hasOthers = true;
      }
    }
    if (!hasOthers) {
      condition.bind(scope);
    }
  }

  private List<SourceFrame> framesAt(Breakpoint breakpoint) {
    var instructions = debuggee.instructions();
    return IntStream.range(0, instructions.size())
        .filter(number -> breakpoint.isAt(instructions.get(number).source()))
        .mapToObj(number -> debuggee.symbols().frame(number))
        .flatMap(Optional::stream)
        .toList();
  }

  private static void checkVariable(
      String name, List<SourceFrame> frames, Map<String, Register> registers, Breakpoint at) {
    if (registers.containsKey("%" + name)
        || frames.stream().anyMatch(frame -> frame.find(name).isPresent())) {
      return;
    }
    var names =
        frames.stream()
            .flatMap(frame -> frame.variables().stream())
            .map(SourceVariable::name)
            .distinct()
            .collect(Collectors.joining(", "));
    throw new IllegalArgumentException(
        "no variable %s has a value at %s:%d; %s"
            .formatted(
                name,
                at.file(),
                at.line(),
                names.isEmpty() ? "none has" : "those that have are " + names));
  }

  /**
   * Starts the launches.
   *
   * @param stopOnEntry whether to stop before the first instruction
   */
  public CompletableFuture<Outcome> start(boolean stopOnEntry) {
    return command(() ->
        repeat(stopOnEntry ? new Goal.AtStep(0, Reason.ENTRY, 0) : new Goal.NextBreakpoint()));
  }

  /** Continues to the next breakpoint or finding, or to the end. */
  public CompletableFuture<Outcome> resume() {
    return fromStop(_ -> stopped().resume(new Goal.NextBreakpoint()));
  }

  /** Continues to the next line that a warp reaches, also in a call. Other warps run too. */
  public CompletableFuture<Outcome> stepInto(WarpId warp) {
    return step(warp, moment -> moment.arrives(warp.warp()));
  }

  /** Continues to the next line that a warp reaches outside of calls from the current frame. */
  public CompletableFuture<Outcome> stepOver(WarpId warp) {
    return fromStop(at -> {
      var start = frame(warp, at);
      return stopped()
          .resume(
              new Goal.NextOfWarp(
                  warp,
                  moment -> {
                    var now = moment.frame();
                    if (start == null || now == null || now.call() == start.call()) {
                      return moment.arrives(warp.warp());
                    }
                    return !now.isWithin(start.call());
                  }));
    });
  }

  /** Continues until a warp returns from the current frame; from a kernel's, to a breakpoint. */
  public CompletableFuture<Outcome> stepOut(WarpId warp) {
    return fromStop(at -> {
      var start = frame(warp, at);
      return stopped()
          .resume(
              start == null || start.caller() == null
                  ? new Goal.NextBreakpoint()
                  : new Goal.NextOfWarp(
                      warp,
                      moment -> {
                        var now = moment.frame();
                        return now != null && !now.isWithin(start.call());
                      }));
    });
  }

  /** Returns the frame of a warp that has not exited; null = it is not known. */
  private @Nullable SourceFrame frame(WarpId warp, Stop at) {
    return new StoppedState(stopped(), at)
        .fragments(warp).stream().findFirst().flatMap(StoppedState.Fragment::frame).orElse(null);
  }

  private CompletableFuture<Outcome> step(WarpId warp, Predicate<Moment> wanted) {
    return fromStop(_ -> stopped().resume(new Goal.NextOfWarp(warp, wanted)));
  }

  /** Continues to the next instruction of a warp. Other warps run too. */
  public CompletableFuture<Outcome> stepInstruction(WarpId warp) {
    return step(warp, _ -> true);
  }

  /** Goes back to the last line that a warp has begun. */
  public CompletableFuture<Outcome> stepBackLine(WarpId warp) {
    return back(
        Reason.STEP,
        moment -> moment.includes(warp) && moment.arrives(warp.warp()) ? warp.warp() : -1);
  }

  /** Goes back to the last instruction that a warp has executed. */
  public CompletableFuture<Outcome> stepBackInstruction(WarpId warp) {
    return back(Reason.STEP, moment -> moment.includes(warp) ? warp.warp() : -1);
  }

  /** Goes back to the last breakpoint that was hit, or to the first instruction. */
  public CompletableFuture<Outcome> reverse() {
    return back(
        Reason.BREAKPOINT,
        moment -> {
          for (int warp = moment.first(); warp < moment.end(); warp++) {
            if (!moment.hits(warp).isEmpty()) {
              return warp;
            }
          }
          return -1;
        });
  }

  private CompletableFuture<Outcome> back(Reason reason, ToIntFunction<Moment> warp) {
    return fromStop(at -> {
      var search = new Goal.LastBefore(at.step(), warp);
      repeat(search);
      return repeat(
          search.found < 0
              ? new Goal.AtStep(0, Reason.ENTRY, 0)
              : new Goal.AtStep(search.found, reason, search.foundWarp));
    });
  }

  /**
   * Goes to the other access of a finding: the last one before this stop.
   *
   * @param finding at which the launches have stopped
   * @throws IllegalArgumentException if the finding has no other access
   */
  public CompletableFuture<Outcome> goToOther(Stop finding) {
    var report = finding.finding();
    var other = report == null ? null : report.other();
    if (other == null) {
      throw new IllegalArgumentException("this stop has no other access to go to");
    }
    return fromStop(_ -> {
      var search = new Goal.LastAccess(finding.step(), new Lane(other), finding.access());
      repeat(search);
      long found = search.touched >= 0 ? search.touched : search.executed;
      if (found < 0) {
        repeat(new Goal.AtStep(finding.step(), Reason.POSITION, finding.warp().warp()));
        throw new IllegalStateException("the other access was not found: " + other);
      }
      return repeat(new Goal.AtStep(found, Reason.POSITION, other.warp()));
    });
  }

  /** Goes to a step, backward or forward. */
  public CompletableFuture<Outcome> goTo(Stop to) {
    return fromStop(_ -> repeat(new Goal.AtStep(to.step(), Reason.POSITION, to.warp().warp())));
  }

  /** Stops running launches at their next instruction. */
  public void pause() {
    var running = run;
    if (running != null && stop == null) {
      running.pause();
    }
  }

  /**
   * Returns the state of the stopped launches; valid until the next command.
   *
   * @throws IllegalStateException if they are running or have ended
   */
  public StoppedState state() {
    var at = current();
    return new StoppedState(stopped(), at);
  }

  /** Returns whether the launches are stopped. */
  public boolean isStopped() {
    return stop != null;
  }

  private Run stopped() {
    var known = run;
    if (known == null) {
      throw notStopped();
    }
    return known;
  }

  private Stop current() {
    var known = stop;
    if (known == null) {
      throw notStopped();
    }
    return known;
  }

  private IllegalStateException notStopped() {
    return new IllegalStateException(
        run == null ? "the launches have ended or not begun" : "the launches are running");
  }

  /** Runs the launches from their start. */
  private Outcome repeat(Goal goal) {
    var old = run;
    if (old != null) {
      old.cancel();
    }
    var fresh = new Run(debuggee, () -> breakpoints, output);
    run = fresh;
    return fresh.resume(goal);
  }

  /** Runs a command that needs stopped launches. */
  private CompletableFuture<Outcome> fromStop(Function<Stop, Outcome> work) {
    return command(() -> {
      var at = current();
      stop = null;
      try {
        return work.apply(at);
      } catch (RuntimeException e) {
        stop = at;
        throw e;
      }
    });
  }

  private CompletableFuture<Outcome> command(Supplier<Outcome> work) {
    return CompletableFuture.supplyAsync(
        () -> {
          var outcome = work.get();
          switch (outcome) {
            case Stopped stopped -> stop = stopped.stop();
            case Ended _ -> run = null;
          }
          return outcome;
        },
        commands);
  }

  /** Ends the launches. */
  @Override
  public void close() {
    commands.shutdown();
    boolean interrupted = false;
    boolean ended = false;
    do {
      var running = run;
      if (running != null) {
        running.cancel();
      }
      try {
        ended = commands.awaitTermination(10, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    } while (!ended);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
