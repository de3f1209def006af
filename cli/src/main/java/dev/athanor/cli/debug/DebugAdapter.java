package dev.athanor.cli.debug;

import static java.util.Objects.requireNonNullElse;
import static java.util.concurrent.CompletableFuture.completedFuture;
import static java.util.concurrent.CompletableFuture.failedFuture;

import dev.athanor.engine.debug.Breakpoint;
import dev.athanor.engine.debug.Condition;
import dev.athanor.engine.debug.DebugSession;
import dev.athanor.engine.debug.Outcome;
import dev.athanor.engine.debug.Stop;
import dev.athanor.engine.debug.WarpId;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.ptx.Modifier.Space;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.eclipse.lsp4j.debug.BreakpointNotVerifiedReason;
import org.eclipse.lsp4j.debug.Capabilities;
import org.eclipse.lsp4j.debug.ConfigurationDoneArguments;
import org.eclipse.lsp4j.debug.ContinueArguments;
import org.eclipse.lsp4j.debug.ContinueResponse;
import org.eclipse.lsp4j.debug.DisassembleArguments;
import org.eclipse.lsp4j.debug.DisassembleResponse;
import org.eclipse.lsp4j.debug.DisconnectArguments;
import org.eclipse.lsp4j.debug.EvaluateArguments;
import org.eclipse.lsp4j.debug.EvaluateResponse;
import org.eclipse.lsp4j.debug.ExceptionBreakMode;
import org.eclipse.lsp4j.debug.ExceptionInfoArguments;
import org.eclipse.lsp4j.debug.ExceptionInfoResponse;
import org.eclipse.lsp4j.debug.ExitedEventArguments;
import org.eclipse.lsp4j.debug.InitializeRequestArguments;
import org.eclipse.lsp4j.debug.NextArguments;
import org.eclipse.lsp4j.debug.OutputEventArguments;
import org.eclipse.lsp4j.debug.OutputEventArgumentsCategory;
import org.eclipse.lsp4j.debug.PauseArguments;
import org.eclipse.lsp4j.debug.ReadMemoryArguments;
import org.eclipse.lsp4j.debug.ReadMemoryResponse;
import org.eclipse.lsp4j.debug.ReverseContinueArguments;
import org.eclipse.lsp4j.debug.ScopesArguments;
import org.eclipse.lsp4j.debug.ScopesResponse;
import org.eclipse.lsp4j.debug.SetBreakpointsArguments;
import org.eclipse.lsp4j.debug.SetBreakpointsResponse;
import org.eclipse.lsp4j.debug.SetExceptionBreakpointsArguments;
import org.eclipse.lsp4j.debug.SetExceptionBreakpointsResponse;
import org.eclipse.lsp4j.debug.SourceBreakpoint;
import org.eclipse.lsp4j.debug.StackFrame;
import org.eclipse.lsp4j.debug.StackTraceArguments;
import org.eclipse.lsp4j.debug.StackTraceResponse;
import org.eclipse.lsp4j.debug.StepBackArguments;
import org.eclipse.lsp4j.debug.StepInArguments;
import org.eclipse.lsp4j.debug.StepOutArguments;
import org.eclipse.lsp4j.debug.SteppingGranularity;
import org.eclipse.lsp4j.debug.StoppedEventArguments;
import org.eclipse.lsp4j.debug.StoppedEventArgumentsReason;
import org.eclipse.lsp4j.debug.TerminateArguments;
import org.eclipse.lsp4j.debug.TerminatedEventArguments;
import org.eclipse.lsp4j.debug.Thread;
import org.eclipse.lsp4j.debug.ThreadsResponse;
import org.eclipse.lsp4j.debug.VariablesArguments;
import org.eclipse.lsp4j.debug.VariablesResponse;
import org.eclipse.lsp4j.debug.services.IDebugProtocolClient;
import org.eclipse.lsp4j.debug.services.IDebugProtocolServer;
import org.eclipse.lsp4j.jsonrpc.MessageConsumer;
import org.eclipse.lsp4j.jsonrpc.ResponseErrorException;
import org.eclipse.lsp4j.jsonrpc.messages.ResponseError;
import org.eclipse.lsp4j.jsonrpc.messages.ResponseErrorCode;
import org.eclipse.lsp4j.jsonrpc.messages.ResponseMessage;
import org.eclipse.lsp4j.jsonrpc.services.JsonRequest;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a client of the Debug Adapter Protocol. Its threads are the warps that have begun
 * and not exited. Requests are answered one after the other; the launches run in other threads.
 */
public final class DebugAdapter implements IDebugProtocolServer, AutoCloseable {

  /** Goes to the other access of the finding at which the launches have stopped last. */
  static final String OTHER_ACCESS = "athanor/otherAccess";

  /** Goes back to that finding. */
  static final String FINDING = "athanor/finding";

  private static final String OTHER_COMMAND = ":other";
  private static final String FINDING_COMMAND = ":finding";

  private final Map<WarpId, Integer> threads = new LinkedHashMap<>();

  /** The breakpoints of each file, with their numbers. */
  private final Map<String, List<Breakpoint>> breakpoints = new LinkedHashMap<>();

  private final Map<Breakpoint, Integer> breakpointNumbers = new LinkedHashMap<>();

  /** Commands that begin when their requests have been answered. */
  private final ConcurrentLinkedQueue<Runnable> commands = new ConcurrentLinkedQueue<>();

  private @Nullable IDebugProtocolClient client;
  private @Nullable DebugSession session;
  private @Nullable SourceFiles files;
  private volatile @Nullable StateView view;
  private volatile @Nullable Stop finding;
  private Thread[] lastThreads = new Thread[0];
  private int linesFrom = 1;

  /** Sets the client before the first request. */
  void connect(IDebugProtocolClient to) {
    client = to;
  }

  /** Begins commands after the responses to their requests, as clients expect. */
  MessageConsumer inOrder(MessageConsumer next) {
    return message -> {
      next.consume(message);
      if (message instanceof ResponseMessage) {
        for (var command = commands.poll(); command != null; command = commands.poll()) {
          command.run();
        }
      }
    };
  }

  @Override
  public CompletableFuture<Capabilities> initialize(InitializeRequestArguments arguments) {
    linesFrom = Boolean.FALSE.equals(arguments.getLinesStartAt1()) ? 0 : 1;
    var can = new Capabilities();
    can.setSupportsConfigurationDoneRequest(true);
    can.setSupportsConditionalBreakpoints(true);
    can.setSupportsStepBack(true);
    can.setSupportsSteppingGranularity(true);
    can.setSupportsEvaluateForHovers(true);
    can.setSupportsReadMemoryRequest(true);
    can.setSupportsDisassembleRequest(true);
    can.setSupportsExceptionInfoRequest(true);
    can.setSupportsTerminateRequest(true);
    return completedFuture(can);
  }

  @Override
  public CompletableFuture<Void> launch(Map<String, Object> arguments) {
    return answer(() -> {
      if (session != null) {
        throw new IllegalArgumentException("this session has been launched already");
      }
      var request = new LaunchRequest(arguments);
      files = new SourceFiles(request.target().instructions(), request.sourcePath());
      session =
          new DebugSession(
              request.target(), text -> print(text, OutputEventArgumentsCategory.STDOUT));
      boolean stops = request.stopsOnEntry();
      commands.add(() -> {
        request
            .warnings()
            .forEach(text -> print(text + "\n", OutputEventArgumentsCategory.CONSOLE));
        client().initialized();
      });
      configured = () -> session().start(stops);
      return null;
    });
  }

  /** Starts the launches. */
  private @Nullable Supplier<CompletableFuture<Outcome>> configured;

  @Override
  public CompletableFuture<Void> attach(Map<String, Object> arguments) {
    return answer(() -> {
      throw new IllegalArgumentException(
          "there is nothing to attach to; set `request` to launch, and `debugServer` to the port of athanor debug");
    });
  }

  @Override
  public CompletableFuture<Void> configurationDone(ConfigurationDoneArguments arguments) {
    return answer(() -> {
      var start = configured;
      if (start == null) {
        throw new IllegalArgumentException("a launch request must come first");
      }
      configured = null;
      command(start);
      return null;
    });
  }

  @Override
  public CompletableFuture<SetBreakpointsResponse> setBreakpoints(
      SetBreakpointsArguments arguments) {
    return answer(() -> {
      var path = arguments.getSource().getPath();
      var known = path == null ? null : files().nameOf(Path.of(path)).orElse(null);
      var set = new ArrayList<Breakpoint>();
      var answers = new ArrayList<org.eclipse.lsp4j.debug.Breakpoint>();
      for (var wanted : requireNonNullElse(arguments.getBreakpoints(), new SourceBreakpoint[0])) {
        answers.add(breakpoint(wanted, known, set));
      }
      breakpoints.put(String.valueOf(path), set);
      session().setBreakpoints(breakpoints.values().stream().flatMap(List::stream).toList());
      var response = new SetBreakpointsResponse();
      response.setBreakpoints(answers.toArray(org.eclipse.lsp4j.debug.Breakpoint[]::new));
      return response;
    });
  }

  private org.eclipse.lsp4j.debug.Breakpoint breakpoint(
      SourceBreakpoint wanted, @Nullable String file, List<Breakpoint> set) {
    var answer = new org.eclipse.lsp4j.debug.Breakpoint();
    answer.setLine(wanted.getLine());
    try {
      var text = wanted.getCondition();
      var condition = text == null || text.isBlank() ? null : Condition.parse(text);
      if (condition != null) {
        session().check(condition);
      }
      if (file == null) {
        throw new IllegalArgumentException("no instruction of the kernel is from this file");
      }
      int line =
          session()
              .lineFrom(file, wanted.getLine() + 1 - linesFrom)
              .orElseThrow(() ->
                  new IllegalArgumentException(
                      "no instruction of the kernel is from this line or a later one"));
      var breakpoint = new Breakpoint(file, line, condition);
      set.add(breakpoint);
      answer.setId(
          breakpointNumbers.computeIfAbsent(breakpoint, _ -> breakpointNumbers.size() + 1));
      answer.setLine(line - 1 + linesFrom);
      answer.setVerified(true);
    } catch (IllegalArgumentException e) {
      answer.setVerified(false);
      answer.setReason(BreakpointNotVerifiedReason.FAILED);
      answer.setMessage(e.getMessage());
    }
    return answer;
  }

  @Override
  public CompletableFuture<SetExceptionBreakpointsResponse> setExceptionBreakpoints(
      SetExceptionBreakpointsArguments arguments) {
    return completedFuture(new SetExceptionBreakpointsResponse());
  }

  @Override
  public CompletableFuture<ThreadsResponse> threads() {
    return answer(() -> {
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
      var response = new ThreadsResponse();
      response.setThreads(lastThreads);
      return response;
    });
  }

  /** Returns the number of a warp, always the same one. */
  private int thread(WarpId warp) {
    synchronized (threads) {
      return threads.computeIfAbsent(warp, _ -> threads.size() + 1);
    }
  }

  private WarpId warp(int thread) {
    synchronized (threads) {
      return threads.entrySet().stream()
          .filter(each -> each.getValue() == thread)
          .map(Map.Entry::getKey)
          .findFirst()
          .orElseThrow(
              () -> new IllegalArgumentException("there is no thread %d".formatted(thread)));
    }
  }

  @Override
  public CompletableFuture<StackTraceResponse> stackTrace(StackTraceArguments arguments) {
    return answer(() -> {
      var frames = view().frames(warp(arguments.getThreadId()));
      var response = new StackTraceResponse();
      int start = requireNonNullElse(arguments.getStartFrame(), 0);
      int levels = requireNonNullElse(arguments.getLevels(), 0);
      response.setStackFrames(
          Stream.of(frames)
              .skip(start)
              .limit(levels == 0 ? frames.length : levels)
              .peek(frame -> frame.setLine(frame.getLine() - 1 + linesFrom))
              .toArray(StackFrame[]::new));
      response.setTotalFrames(frames.length);
      return response;
    });
  }

  @Override
  public CompletableFuture<ScopesResponse> scopes(ScopesArguments arguments) {
    return answer(() -> {
      var response = new ScopesResponse();
      response.setScopes(view().scopes(arguments.getFrameId()));
      return response;
    });
  }

  @Override
  public CompletableFuture<VariablesResponse> variables(VariablesArguments arguments) {
    return answer(() -> {
      var response = new VariablesResponse();
      response.setVariables(
          view()
              .variables(
                  arguments.getVariablesReference(), arguments.getStart(), arguments.getCount()));
      return response;
    });
  }

  @Override
  public CompletableFuture<EvaluateResponse> evaluate(EvaluateArguments arguments) {
    return answer(() -> {
      var text = arguments.getExpression().strip();
      var response = new EvaluateResponse();
      switch (text) {
        case OTHER_COMMAND -> {
          command(this::toOther);
          response.setResult("Going to the other access …");
        }
        case FINDING_COMMAND -> {
          command(this::toFinding);
          response.setResult("Going to the finding …");
        }
        default -> response = view().evaluate(text, arguments.getFrameId());
      }
      return response;
    });
  }

  @Override
  public CompletableFuture<ReadMemoryResponse> readMemory(ReadMemoryArguments arguments) {
    return answer(() -> {
      var at =
          MemoryReference.parse(
              arguments.getMemoryReference(), requireNonNullElse(arguments.getOffset(), 0));
      var state = view().state();
      var focus = state.stop().warp();
      var bytes =
          state.read(
              new WarpId(
                  focus.launch(), at.space() == Space.SHARED ? at.block() : focus.block(), 0),
              at.space(),
              at.address(),
              arguments.getCount());
      var response = new ReadMemoryResponse();
      response.setAddress("0x%x".formatted(at.address()));
      response.setData(Base64.getEncoder().encodeToString(bytes));
      response.setUnreadableBytes(arguments.getCount() - bytes.length);
      return response;
    });
  }

  @Override
  public CompletableFuture<DisassembleResponse> disassemble(DisassembleArguments arguments) {
    return answer(() -> {
      var state = view().state();
      var response = new DisassembleResponse();
      response.setInstructions(
          Disassembly.of(state.instructions(state.stop().warp()), arguments, files()));
      return response;
    });
  }

  @Override
  public CompletableFuture<ExceptionInfoResponse> exceptionInfo(ExceptionInfoArguments arguments) {
    return answer(() -> {
      var report = view().state().stop().finding();
      if (report == null) {
        throw new IllegalArgumentException("this stop is not at a finding");
      }
      var response = new ExceptionInfoResponse();
      response.setExceptionId(report.kind().name());
      response.setDescription(
          report
              + (report.other() == null
                  ? ""
                  : "\n%s in the debug console goes to the other access".formatted(OTHER_COMMAND)));
      response.setBreakMode(ExceptionBreakMode.ALWAYS);
      return response;
    });
  }

  @Override
  public CompletableFuture<ContinueResponse> continue_(ContinueArguments arguments) {
    return answer(() -> {
      view();
      command(() -> session().resume());
      var response = new ContinueResponse();
      response.setAllThreadsContinued(true);
      return response;
    });
  }

  @Override
  public CompletableFuture<Void> next(NextArguments arguments) {
    return step(arguments.getThreadId(), arguments.getGranularity());
  }

  @Override
  public CompletableFuture<Void> stepIn(StepInArguments arguments) {
    return step(arguments.getThreadId(), arguments.getGranularity());
  }

  private CompletableFuture<Void> step(int thread, @Nullable SteppingGranularity granularity) {
    return move(
        thread,
        warp ->
            granularity == SteppingGranularity.INSTRUCTION
                ? session().stepInstruction(warp)
                : session().stepLine(warp));
  }

  @Override
  public CompletableFuture<Void> stepOut(StepOutArguments arguments) {
    return move(arguments.getThreadId(), _ -> session().resume());
  }

  @Override
  public CompletableFuture<Void> stepBack(StepBackArguments arguments) {
    return move(
        arguments.getThreadId(),
        warp ->
            arguments.getGranularity() == SteppingGranularity.INSTRUCTION
                ? session().stepBackInstruction(warp)
                : session().stepBackLine(warp));
  }

  @Override
  public CompletableFuture<Void> reverseContinue(ReverseContinueArguments arguments) {
    return move(arguments.getThreadId(), _ -> session().reverse());
  }

  private CompletableFuture<Void> move(
      int thread, Function<WarpId, CompletableFuture<Outcome>> how) {
    return answer(() -> {
      view();
      var warp = warp(thread);
      command(() -> how.apply(warp));
      return null;
    });
  }

  /** Goes to the other access of the last finding. */
  @JsonRequest(OTHER_ACCESS)
  public CompletableFuture<Void> otherAccess(Map<String, Object> arguments) {
    return answer(() -> {
      command(this::toOther);
      return null;
    });
  }

  /** Goes back to the last finding. */
  @JsonRequest(FINDING)
  public CompletableFuture<Void> finding(Map<String, Object> arguments) {
    return answer(() -> {
      command(this::toFinding);
      return null;
    });
  }

  private CompletableFuture<Outcome> toOther() {
    return session().goToOther(lastFinding());
  }

  private CompletableFuture<Outcome> toFinding() {
    return session().goTo(lastFinding());
  }

  private Stop lastFinding() {
    var known = finding;
    if (known == null) {
      throw new IllegalArgumentException("the launches have not stopped at a finding yet");
    }
    return known;
  }

  @Override
  public CompletableFuture<Void> pause(PauseArguments arguments) {
    return answer(() -> {
      session().pause();
      return null;
    });
  }

  @Override
  public CompletableFuture<Void> terminate(TerminateArguments arguments) {
    return answer(() -> {
      commands.add(() -> {
        close();
        client().terminated(new TerminatedEventArguments());
      });
      return null;
    });
  }

  @Override
  public CompletableFuture<Void> disconnect(DisconnectArguments arguments) {
    return answer(() -> {
      close();
      return null;
    });
  }

  /** Ends the launches. */
  @Override
  public void close() {
    var known = session;
    if (known != null) {
      known.close();
    }
  }

  /** Begins a command after the current response, and sends its outcome. */
  private void command(Supplier<CompletableFuture<Outcome>> work) {
    commands.add(() -> {
      try {
        var before = view;
        view = null;
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
        view = session().isStopped() ? new StateView(session().state(), files()) : null;
        fail(e);
      }
    });
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
        client().exited(exited);
        client().terminated(new TerminatedEventArguments());
      }
    }
  }

  private static String line(Report found) {
    return "report: %s: %s".formatted(found.kind(), found);
  }

  private void send(Stop stop) {
    view = new StateView(session().state(), files());
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
        stop.breakpoints().stream()
            .map(breakpointNumbers::get)
            .filter(number -> number != null)
            .toArray(Integer[]::new));
    if (stop.finding() != null) {
      finding = stop;
      event.setDescription(stop.finding().kind().name());
      event.setText(stop.finding().toString());
      print(line(stop.finding()) + "\n", OutputEventArgumentsCategory.CONSOLE);
    }
    client().stopped(event);
  }

  private void print(String text, String category) {
    var output = new OutputEventArguments();
    output.setCategory(category);
    output.setOutput(text);
    client().output(output);
  }

  private IDebugProtocolClient client() {
    var known = client;
    if (known == null) {
      throw new IllegalStateException("no client is connected");
    }
    return known;
  }

  private DebugSession session() {
    return launched(session);
  }

  private SourceFiles files() {
    return launched(files);
  }

  private static <T> T launched(@Nullable T part) {
    if (part == null) {
      throw new IllegalArgumentException("a launch request must come first");
    }
    return part;
  }

  private StateView view() {
    var known = view;
    if (known == null) {
      throw new IllegalStateException("the launches are not stopped; pause them first");
    }
    return known;
  }

  /** Answers a request; bad requests get a sentence. */
  private static <T> CompletableFuture<T> answer(Supplier<T> work) {
    try {
      return completedFuture(work.get());
    } catch (IllegalArgumentException | IllegalStateException e) {
      return failedFuture(
          new ResponseErrorException(
              new ResponseError(ResponseErrorCode.RequestFailed, e.getMessage(), null)));
    }
  }
}
