package dev.athanor.cli.debug;

import dev.athanor.engine.debug.Breakpoint;
import dev.athanor.engine.debug.Condition;
import dev.athanor.engine.debug.DebugSession;
import dev.athanor.engine.debug.Outcome;
import dev.athanor.engine.debug.Stop;
import dev.athanor.engine.debug.WarpId;
import dev.athanor.engine.device.Report;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.eclipse.lsp4j.debug.BreakpointNotVerifiedReason;
import org.eclipse.lsp4j.debug.ExitedEventArguments;
import org.eclipse.lsp4j.debug.OutputEventArguments;
import org.eclipse.lsp4j.debug.OutputEventArgumentsCategory;
import org.eclipse.lsp4j.debug.SourceBreakpoint;
import org.eclipse.lsp4j.debug.StoppedEventArguments;
import org.eclipse.lsp4j.debug.StoppedEventArgumentsReason;
import org.eclipse.lsp4j.debug.TerminatedEventArguments;
import org.eclipse.lsp4j.debug.Thread;
import org.eclipse.lsp4j.debug.services.IDebugProtocolClient;
import org.jspecify.annotations.Nullable;

/**
 * The launches of a session. Maps warps to the protocol's thread ids and numbers breakpoints, and
 * sends events when the launches stop or end.
 */
final class LaunchedSession implements AutoCloseable {

  private final IDebugProtocolClient client;
  private final DebugSession session;
  private final SourceFiles files;
  private final boolean stopsOnEntry;

  /** The number of the first line of a file. */
  private final int firstLine;

  private final Map<WarpId, Integer> threads = new LinkedHashMap<>();

  /** The breakpoints of each file. */
  private final Map<String, List<Breakpoint>> breakpoints = new LinkedHashMap<>();

  private final Map<Breakpoint, Integer> breakpointNumbers = new HashMap<>();
  private volatile @Nullable StateView view;
  private volatile @Nullable Stop finding;

  /** The threads of the last stop that the client queried. */
  private Thread[] lastThreads = new Thread[0];

  /**
   * @param firstLine the number of the first line of a file, 0 or 1
   */
  LaunchedSession(IDebugProtocolClient client, LaunchRequest request, int firstLine) {
    this.client = client;
    this.firstLine = firstLine;
    this.stopsOnEntry = request.stopsOnEntry();
    this.files = new SourceFiles(request.target().instructions(), request.sourcePath());
    this.session =
        new DebugSession(
            request.target(), text -> print(text, OutputEventArgumentsCategory.STDOUT));
  }

  DebugSession session() {
    return session;
  }

  SourceFiles files() {
    return files;
  }

  int firstLine() {
    return firstLine;
  }

  /** Starts the launches. */
  CompletableFuture<Outcome> start() {
    return session.start(stopsOnEntry);
  }

  /** Replaces the breakpoints of a file. */
  org.eclipse.lsp4j.debug.Breakpoint[] setBreakpoints(
      @Nullable String path, SourceBreakpoint[] all) {
    var file = path == null ? null : files.nameOf(Path.of(path)).orElse(null);
    var set = new ArrayList<Breakpoint>();
    var answers =
        Stream.of(all)
            .map(wanted -> breakpoint(wanted, file, set))
            .toArray(org.eclipse.lsp4j.debug.Breakpoint[]::new);
    breakpoints.put(String.valueOf(path), set);
    session.setBreakpoints(breakpoints.values().stream().flatMap(List::stream).toList());
    return answers;
  }

  private org.eclipse.lsp4j.debug.Breakpoint breakpoint(
      SourceBreakpoint wanted, @Nullable String file, List<Breakpoint> set) {
    var answer = new org.eclipse.lsp4j.debug.Breakpoint();
    answer.setLine(wanted.getLine());
    try {
      var text = wanted.getCondition();
      var condition = text == null || text.isBlank() ? null : Condition.parse(text);
      if (file == null) {
        throw new IllegalArgumentException("no instruction of the kernel is from this file");
      }
      int line =
          session
              .lineFrom(file, wanted.getLine() + 1 - firstLine)
              .orElseThrow(() ->
                  new IllegalArgumentException(
                      "no instruction of the kernel is from this line or a later one"));
      var breakpoint = new Breakpoint(file, line, condition);
      session.check(breakpoint);
      set.add(breakpoint);
      answer.setId(number(breakpoint));
      answer.setLine(line - 1 + firstLine);
      answer.setVerified(true);
    } catch (IllegalArgumentException e) {
      answer.setVerified(false);
      answer.setReason(BreakpointNotVerifiedReason.FAILED);
      answer.setMessage(e.getMessage());
    }
    return answer;
  }

  private int number(Breakpoint breakpoint) {
    synchronized (breakpointNumbers) {
      return breakpointNumbers.computeIfAbsent(breakpoint, _ -> breakpointNumbers.size() + 1);
    }
  }

  /** Returns the warps of the current stop, or of the last one. */
  Thread[] threads() {
    var known = view;
    if (known != null) {
      lastThreads =
          known.state().warps().stream()
              .map(warp -> {
                var thread = new Thread();
                thread.setId(thread(warp));
                thread.setName(known.name(warp));
                return thread;
              })
              .toArray(Thread[]::new);
    }
    return lastThreads;
  }

  /** Returns the thread id of a warp, which never changes. */
  private int thread(WarpId warp) {
    synchronized (threads) {
      return threads.computeIfAbsent(warp, _ -> threads.size() + 1);
    }
  }

  /**
   * Returns the warp of a thread id.
   *
   * @throws IllegalArgumentException if the id is unknown
   */
  WarpId warp(int thread) {
    synchronized (threads) {
      return threads.entrySet().stream()
          .filter(each -> each.getValue() == thread)
          .map(Map.Entry::getKey)
          .findFirst()
          .orElseThrow(() -> new IllegalArgumentException("unknown thread %d".formatted(thread)));
    }
  }

  /**
   * Returns the current stop.
   *
   * @throws IllegalStateException if the launches are running or have ended
   */
  StateView view() {
    var known = view;
    if (known == null) {
      throw new IllegalStateException("the launches are not stopped; pause them first");
    }
    return known;
  }

  /** Goes to the other access of the last finding. */
  CompletableFuture<Outcome> toOther() {
    return session.goToOther(lastFinding());
  }

  /** Goes back to the last finding. */
  CompletableFuture<Outcome> toFinding() {
    return session.goTo(lastFinding());
  }

  private Stop lastFinding() {
    var known = finding;
    if (known == null) {
      throw new IllegalArgumentException("the launches have not stopped at a finding yet");
    }
    return known;
  }

  /** Starts a command and sends its outcome. */
  void begin(Supplier<CompletableFuture<Outcome>> work) {
    var before = view;
    view = null;
    try {
      var _ =
          work.get()
              .whenComplete((outcome, failure) -> {
                if (failure == null) {
                  send(outcome);
                } else {
                  view = before;
                  fail(failure);
                }
              });
    } catch (IllegalArgumentException | IllegalStateException e) {
      view = before;
      fail(e);
    }
  }

  private void fail(Throwable failure) {
    var cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    print(cause.getMessage() + "\n", OutputEventArgumentsCategory.IMPORTANT);
  }

  private void send(Outcome outcome) {
    switch (outcome) {
      case Outcome.Stopped(Stop stop) -> send(stop);
      case Outcome.Ended end -> {
        end.findings()
            .forEach(each -> print(line(each) + "\n", OutputEventArgumentsCategory.STDERR));
        if (end.failure() != null) {
          print(end.failure() + "\n", OutputEventArgumentsCategory.STDERR);
        }
        var exited = new ExitedEventArguments();
        exited.setExitCode(end.findings().isEmpty() && end.failure() == null ? 0 : 1);
        client.exited(exited);
        client.terminated(new TerminatedEventArguments());
      }
    }
  }

  private static String line(Report found) {
    return "report: %s: %s".formatted(found.kind(), found);
  }

  private void send(Stop stop) {
    view = new StateView(session.state(), files);
    var event = new StoppedEventArguments();
    event.setThreadId(thread(stop.warp()));
    event.setAllThreadsStopped(true);
    event.setReason(
        switch (stop.reason()) {
          case ENTRY -> StoppedEventArgumentsReason.ENTRY;
          case BREAKPOINT -> StoppedEventArgumentsReason.BREAKPOINT;
          case STEP -> StoppedEventArgumentsReason.STEP;
          case PAUSE -> StoppedEventArgumentsReason.PAUSE;
          case POSITION -> StoppedEventArgumentsReason.GOTO;
          case FINDING, FAULT -> StoppedEventArgumentsReason.EXCEPTION;
        });
    event.setHitBreakpointIds(
        stop.breakpoints().stream().map(this::number).toArray(Integer[]::new));
    if (stop.finding() != null) {
      finding = stop;
      event.setDescription(stop.finding().kind().name());
      event.setText(stop.finding().toString());
      print(line(stop.finding()) + "\n", OutputEventArgumentsCategory.CONSOLE);
    }
    client.stopped(event);
  }

  /** Prints a line in the client's console. */
  void note(String line) {
    print(line + "\n", OutputEventArgumentsCategory.CONSOLE);
  }

  private void print(String text, String category) {
    var output = new OutputEventArguments();
    output.setCategory(category);
    output.setOutput(text);
    client.output(output);
  }

  /** Ends the launches. */
  @Override
  public void close() {
    session.close();
  }
}
