package dev.athanor.engine.debug;

import dev.athanor.engine.debug.Debuggee.NamedBuffer;
import dev.athanor.engine.debug.Outcome.Ended;
import dev.athanor.engine.debug.Outcome.Stopped;
import dev.athanor.engine.debug.Stop.Access;
import dev.athanor.engine.debug.Stop.Reason;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One execution of a debuggee from its start. The emulator runs in a thread of its own, which waits
 * while the run is stopped: whoever has the outcome may then read the state.
 */
final class Run {

  /** Ends the thread of the emulator. */
  private static final class Cancelled extends RuntimeException {
    Cancelled() {
      super("the run is cancelled", null, false, false);
    }
  }

  private final SymbolTable symbols;
  private final Supplier<List<Breakpoint>> breakpoints;
  private final CompletableFuture<Ended> ended = new CompletableFuture<>();
  private final LinkedBlockingQueue<Goal> goals = new LinkedBlockingQueue<>();
  private final Consumer<String> output;

  /** The breakpoints whose conditions have failed. */
  private final Set<Breakpoint> noted = new HashSet<>();

  private final List<NamedBuffer> buffers = new ArrayList<>();

  /** The blocks that run, by number. */
  private final Map<Long, Probe> blocks = new TreeMap<>();

  private volatile CompletableFuture<Outcome> outcome = new CompletableFuture<>();
  private volatile boolean cancelled;
  private volatile boolean paused;
  private volatile @Nullable Report finding;
  private Goal goal = new Goal.NextBreakpoint();
  private long step = -1;
  private @Nullable Moment now;
  private @Nullable MemoryRequest request;

  /**
   * @param breakpoints those that are set now
   * @param output receives what kernels print, and why conditions fail
   */
  Run(Debuggee debuggee, Supplier<List<Breakpoint>> breakpoints, Consumer<String> output) {
    this.output = output;
    this.symbols = debuggee.symbols();
    this.breakpoints = breakpoints;
    var options =
        debuggee
            .options()
            .withWorkers(1)
            .withObservers(List.of(observed -> new Probe(this, observed)))
            .withOutput(text -> {
              if (goal.isForward()) { // not again when the run is repeated
                output.accept(text);
              }
            });
    Thread.ofPlatform()
        .daemon()
        .name("debuggee")
        .start(() -> {
          Ended end;
          try {
            goal = nextGoal();
            debuggee.run(options, buffers::add);
            end = new Ended(List.of(), null);
          } catch (DeviceException.KernelFault fault) {
            end = new Ended(fault.findings(), null);
          } catch (RuntimeException | Error e) {
            end = new Ended(List.of(), cancelled ? null : text(e));
          }
          outcome.complete(end);
          ended.complete(end);
        });
  }

  private static String text(Throwable e) {
    var cause = e.getCause();
    return cause == null ? String.valueOf(e.getMessage()) : e.getMessage() + ": " + cause;
  }

  /** Runs on until the goal is reached or the launches end. */
  Outcome resume(Goal next) {
    var awaited = new CompletableFuture<Outcome>();
    outcome = awaited;
    goals.add(next);
    return awaited.join();
  }

  /** Stops at the next instruction. */
  void pause() {
    paused = true;
  }

  /** Ends the run. */
  void cancel() {
    cancelled = true;
    goals.add(new Goal.NextBreakpoint());
    ended.join();
  }

  private Goal nextGoal() {
    try {
      var next = goals.take();
      if (cancelled) {
        throw new Cancelled();
      }
      return next;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new Cancelled();
    }
  }

  SymbolTable symbols() {
    return symbols;
  }

  List<Breakpoint> breakpoints() {
    return breakpoints.get();
  }

  /** Returns the buffers that the debuggee has named. */
  List<NamedBuffer> buffers() {
    return buffers;
  }

  /** Returns the blocks that have begun and not ended. */
  Collection<Probe> blocks() {
    return blocks.values();
  }

  /** Returns the block of a warp; null if it has not begun or has ended. */
  @Nullable Probe block(WarpId warp) {
    var block = blocks.get(warp.block());
    return block == null || block.observed().number() != warp.launch() ? null : block;
  }

  // what follows is called by the emulator

  void began(Probe probe) {
    blocks.put(probe.block(), probe);
  }

  void ended(Probe probe) {
    blocks.remove(probe.block());
  }

  void step(Probe probe, int number) {
    if (cancelled) {
      throw new Cancelled();
    }
    step++;
    var moment = new Moment(step, this, probe, number);
    now = moment;
    request = null;
    if (goal.isForward() && finding != null) {
      return; // which stops the run
    }
    if (goal.isForward() && paused) {
      stop(Reason.PAUSE, probe, moment.first(), List.of(), null);
      return;
    }
    var hit = goal.before(moment);
    if (hit != null) {
      stop(hit.reason(), probe, hit.warp(), hit.breakpoints(), null);
    }
  }

  void touch(Probe probe, MemoryRequest touched) {
    request = touched;
    if (now != null) {
      goal.touches(now, touched);
    }
    checkFinding(probe);
  }

  /** Prints why a condition has no value, once for each breakpoint. */
  void note(Breakpoint breakpoint, String failure) {
    var condition = breakpoint.condition();
    if (condition != null && goal.isForward() && noted.add(breakpoint)) {
      output.accept(
          "condition \"%s\" at %s:%d: %s\n"
              .formatted(condition.text(), breakpoint.file(), breakpoint.line(), failure));
    }
  }

  void found(Report report) {
    finding = report;
  }

  /** Stops if the sanitizer has found something. */
  void checkFinding(Probe probe) {
    var found = finding;
    if (found == null) {
      return;
    }
    finding = null;
    if (goal.isForward()) {
      stop(Reason.FINDING, probe, found.place().warp(), List.of(), found);
    }
  }

  void failed(Probe probe, List<Report> reports) {
    if (cancelled || !goal.isForward() || !blocks.containsValue(probe)) {
      return;
    }
    var grid = probe.observed().grid();
    var index = FrameScope.index(probe.block(), grid.x(), grid.y());
    reports.stream()
        .filter(report -> report.place().block().equals(index))
        .findFirst()
        .ifPresent(report -> stop(Reason.FAULT, probe, report.place().warp(), List.of(), report));
  }

  private void stop(
      Reason reason, Probe probe, int warp, List<Breakpoint> hit, @Nullable Report report) {
    paused = false;
    var id = new WarpId(probe.observed().number(), probe.block(), warp);
    outcome.complete(
        new Stopped(
            new Stop(
                reason,
                Math.max(0, step),
                id,
                hit,
                report,
                report == null ? null : access(report.place().warp(), report.place().lane()))));
    goal = nextGoal();
  }

  /** Returns the access that the current instruction makes in a lane; null = none. */
  private @Nullable Access access(int warp, int lane) {
    var current = request;
    return current == null
            || current.warp() != warp
            || ((current.mask() >>> lane) & 1) == 0
            || current.memories[lane] == null
        ? null
        : access(current, lane);
  }

  static Access access(MemoryRequest request, int lane) {
    return new Access(request.space(lane), request.address(lane), request.bytes(lane));
  }
}
