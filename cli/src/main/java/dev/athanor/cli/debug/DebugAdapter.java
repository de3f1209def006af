package dev.athanor.cli.debug;

import static java.util.Objects.requireNonNullElse;
import static java.util.concurrent.CompletableFuture.completedFuture;
import static java.util.concurrent.CompletableFuture.failedFuture;

import dev.athanor.engine.debug.Outcome;
import dev.athanor.engine.debug.WarpId;
import dev.athanor.engine.ptx.Modifier.Space;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
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
import org.eclipse.lsp4j.debug.InitializeRequestArguments;
import org.eclipse.lsp4j.debug.NextArguments;
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
import org.eclipse.lsp4j.debug.TerminateArguments;
import org.eclipse.lsp4j.debug.TerminatedEventArguments;
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

  /** Commands that begin when their requests have been answered. */
  private final ConcurrentLinkedQueue<Runnable> commands = new ConcurrentLinkedQueue<>();

  private @Nullable IDebugProtocolClient client;
  private @Nullable LaunchedSession launched;
  private boolean started;
  private int firstLine = 1;

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
    firstLine = Boolean.FALSE.equals(arguments.getLinesStartAt1()) ? 0 : 1;
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
    return perform(() -> {
      if (launched != null) {
        throw new IllegalArgumentException("this session has been launched already");
      }
      var request = new LaunchRequest(arguments);
      var fresh = new LaunchedSession(client(), request, firstLine);
      launched = fresh;
      commands.add(() -> {
        request.warnings().forEach(fresh::note);
        client().initialized();
      });
    });
  }

  @Override
  public CompletableFuture<Void> attach(Map<String, Object> arguments) {
    return perform(() -> {
      throw new IllegalArgumentException(
          "there is nothing to attach to; set `request` to launch, and `debugServer` to the port of athanor debug");
    });
  }

  @Override
  public CompletableFuture<Void> configurationDone(ConfigurationDoneArguments arguments) {
    return perform(() -> {
      var fresh = launched();
      if (!started) {
        started = true;
        command(fresh::start);
      }
    });
  }

  @Override
  public CompletableFuture<SetBreakpointsResponse> setBreakpoints(
      SetBreakpointsArguments arguments) {
    return answer(() -> {
      var response = new SetBreakpointsResponse();
      response.setBreakpoints(
          launched()
              .setBreakpoints(
                  arguments.getSource().getPath(),
                  requireNonNullElse(arguments.getBreakpoints(), new SourceBreakpoint[0])));
      return response;
    });
  }

  @Override
  public CompletableFuture<SetExceptionBreakpointsResponse> setExceptionBreakpoints(
      SetExceptionBreakpointsArguments arguments) {
    return completedFuture(new SetExceptionBreakpointsResponse());
  }

  @Override
  public CompletableFuture<ThreadsResponse> threads() {
    return answer(() -> {
      var response = new ThreadsResponse();
      response.setThreads(launched().threads());
      return response;
    });
  }

  @Override
  public CompletableFuture<StackTraceResponse> stackTrace(StackTraceArguments arguments) {
    return answer(() -> {
      var frames = view().frames(launched().warp(arguments.getThreadId()));
      var response = new StackTraceResponse();
      int start = requireNonNullElse(arguments.getStartFrame(), 0);
      int levels = requireNonNullElse(arguments.getLevels(), 0);
      response.setStackFrames(
          Stream.of(frames)
              .skip(start)
              .limit(levels == 0 ? frames.length : levels)
              .peek(frame -> frame.setLine(frame.getLine() - 1 + launched().firstLine()))
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
          command(launched()::toOther);
          response.setResult("Going to the other access …");
        }
        case FINDING_COMMAND -> {
          command(launched()::toFinding);
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
          Disassembly.of(state.instructions(state.stop().warp()), arguments, launched().files()));
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
      command(() -> launched().session().resume());
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
                ? launched().session().stepInstruction(warp)
                : launched().session().stepLine(warp));
  }

  @Override
  public CompletableFuture<Void> stepOut(StepOutArguments arguments) {
    return move(arguments.getThreadId(), _ -> launched().session().resume());
  }

  @Override
  public CompletableFuture<Void> stepBack(StepBackArguments arguments) {
    return move(
        arguments.getThreadId(),
        warp ->
            arguments.getGranularity() == SteppingGranularity.INSTRUCTION
                ? launched().session().stepBackInstruction(warp)
                : launched().session().stepBackLine(warp));
  }

  @Override
  public CompletableFuture<Void> reverseContinue(ReverseContinueArguments arguments) {
    return move(arguments.getThreadId(), _ -> launched().session().reverse());
  }

  private CompletableFuture<Void> move(
      int thread, Function<WarpId, CompletableFuture<Outcome>> how) {
    return perform(() -> {
      view();
      var warp = launched().warp(thread);
      command(() -> how.apply(warp));
    });
  }

  /** Goes to the other access of the last finding. */
  @JsonRequest(OTHER_ACCESS)
  public CompletableFuture<Void> otherAccess(Map<String, Object> arguments) {
    return perform(() -> {
      command(launched()::toOther);
    });
  }

  /** Goes back to the last finding. */
  @JsonRequest(FINDING)
  public CompletableFuture<Void> finding(Map<String, Object> arguments) {
    return perform(() -> {
      command(launched()::toFinding);
    });
  }

  @Override
  public CompletableFuture<Void> pause(PauseArguments arguments) {
    return perform(() -> {
      launched().session().pause();
    });
  }

  @Override
  public CompletableFuture<Void> terminate(TerminateArguments arguments) {
    return perform(() -> {
      commands.add(() -> {
        close();
        client().terminated(new TerminatedEventArguments());
      });
    });
  }

  @Override
  public CompletableFuture<Void> disconnect(DisconnectArguments arguments) {
    return perform(() -> {
      close();
    });
  }

  /** Ends the launches. */
  @Override
  public void close() {
    var known = launched;
    if (known != null) {
      known.close();
    }
  }

  /** Begins a command after the current response. */
  private void command(Supplier<CompletableFuture<Outcome>> work) {
    var session = launched();
    commands.add(() -> session.begin(work));
  }

  private StateView view() {
    return launched().view();
  }

  private IDebugProtocolClient client() {
    var known = client;
    if (known == null) {
      throw new IllegalStateException("no client is connected");
    }
    return known;
  }

  private LaunchedSession launched() {
    var known = launched;
    if (known == null) {
      throw new IllegalArgumentException("a launch request must come first");
    }
    return known;
  }

  /** Performs a request that has no answer. */
  private static CompletableFuture<Void> perform(Runnable work) {
    return answer(
            () -> {
              work.run();
              return true;
            })
        .thenAccept(_ -> {});
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
