package dev.athanor.cli.debug;

import static dev.athanor.cli.debug.Responses.answer;
import static dev.athanor.cli.debug.Responses.perform;
import static java.util.Objects.requireNonNullElse;
import static java.util.concurrent.CompletableFuture.completedFuture;

import dev.athanor.engine.debug.DebugSession;
import dev.athanor.engine.debug.Outcome;
import dev.athanor.engine.debug.WarpId;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.eclipse.lsp4j.debug.Capabilities;
import org.eclipse.lsp4j.debug.ConfigurationDoneArguments;
import org.eclipse.lsp4j.debug.ContinueArguments;
import org.eclipse.lsp4j.debug.ContinueResponse;
import org.eclipse.lsp4j.debug.DisassembleArguments;
import org.eclipse.lsp4j.debug.DisassembleResponse;
import org.eclipse.lsp4j.debug.DisconnectArguments;
import org.eclipse.lsp4j.debug.EvaluateArguments;
import org.eclipse.lsp4j.debug.EvaluateResponse;
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
import org.eclipse.lsp4j.jsonrpc.services.JsonRequest;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a client of the Debug Adapter Protocol. The protocol's threads are the warps that
 * have started and not exited. Requests are handled sequentially; launches run in other threads.
 */
public final class DebugAdapter implements IDebugProtocolServer, AutoCloseable {

  /** Goes to the other access of the last finding. */
  static final String OTHER_ACCESS = "athanor/otherAccess";

  /** Goes back to the last finding. */
  static final String FINDING = "athanor/finding";

  /** The command of the debug console that goes to the other access. */
  static final String OTHER_COMMAND = ":other";

  private static final String FINDING_COMMAND = ":finding";

  private final RunControl control = new RunControl();
  private @Nullable IDebugProtocolClient client;
  private @Nullable LaunchedSession launched;
  private boolean started;
  private int firstLine = 1;

  /** Sets the client before the first request. */
  void connect(IDebugProtocolClient to) {
    client = to;
  }

  /** Starts commands after the responses to their requests, as clients expect. */
  MessageConsumer inOrder(MessageConsumer next) {
    return control.inOrder(next);
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
      control.afterResponse(() -> {
        request.warnings().forEach(fresh::note);
        client().initialized();
      });
    });
  }

  @Override
  public CompletableFuture<Void> attach(Map<String, Object> arguments) {
    return perform(() -> {
      throw new IllegalArgumentException(
          "attach is not supported; set `request` to launch, and `debugServer` to the port of athanor debug");
    });
  }

  @Override
  public CompletableFuture<Void> configurationDone(ConfigurationDoneArguments arguments) {
    return perform(() -> {
      var fresh = launched();
      if (!started) {
        started = true;
        control.begin(fresh, fresh::start);
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
    return answer(() -> inspection().stackTrace(arguments));
  }

  @Override
  public CompletableFuture<ScopesResponse> scopes(ScopesArguments arguments) {
    return answer(() -> inspection().scopes(arguments.getFrameId()));
  }

  @Override
  public CompletableFuture<VariablesResponse> variables(VariablesArguments arguments) {
    return answer(() -> inspection().variables(arguments));
  }

  @Override
  public CompletableFuture<ReadMemoryResponse> readMemory(ReadMemoryArguments arguments) {
    return answer(() -> inspection().readMemory(arguments));
  }

  @Override
  public CompletableFuture<DisassembleResponse> disassemble(DisassembleArguments arguments) {
    return answer(() -> inspection().disassemble(arguments));
  }

  @Override
  public CompletableFuture<ExceptionInfoResponse> exceptionInfo(ExceptionInfoArguments arguments) {
    return answer(() -> inspection().exceptionInfo());
  }

  @Override
  public CompletableFuture<EvaluateResponse> evaluate(EvaluateArguments arguments) {
    return answer(() -> {
      var text = arguments.getExpression().strip();
      var session = launched();
      var response = new EvaluateResponse();
      switch (text) {
        case OTHER_COMMAND -> {
          control.begin(session, session::toOther);
          response.setResult("Going to the other access …");
        }
        case FINDING_COMMAND -> {
          control.begin(session, session::toFinding);
          response.setResult("Going to the finding …");
        }
        default -> response = session.view().evaluate(text, arguments.getFrameId());
      }
      return response;
    });
  }

  @Override
  public CompletableFuture<ContinueResponse> continue_(ContinueArguments arguments) {
    return answer(() -> {
      var session = launched();
      session.view();
      control.begin(session, () -> session.session().resume());
      var response = new ContinueResponse();
      response.setAllThreadsContinued(true);
      return response;
    });
  }

  @Override
  public CompletableFuture<Void> next(NextArguments arguments) {
    return move(
        arguments.getThreadId(),
        isInstruction(arguments.getGranularity())
            ? DebugSession::stepInstruction
            : DebugSession::stepOver);
  }

  @Override
  public CompletableFuture<Void> stepIn(StepInArguments arguments) {
    return move(
        arguments.getThreadId(),
        isInstruction(arguments.getGranularity())
            ? DebugSession::stepInstruction
            : DebugSession::stepInto);
  }

  @Override
  public CompletableFuture<Void> stepOut(StepOutArguments arguments) {
    return move(arguments.getThreadId(), DebugSession::stepOut);
  }

  @Override
  public CompletableFuture<Void> stepBack(StepBackArguments arguments) {
    return move(
        arguments.getThreadId(),
        isInstruction(arguments.getGranularity())
            ? DebugSession::stepBackInstruction
            : DebugSession::stepBackLine);
  }

  @Override
  public CompletableFuture<Void> reverseContinue(ReverseContinueArguments arguments) {
    return move(arguments.getThreadId(), (session, _) -> session.reverse());
  }

  private CompletableFuture<Void> move(
      int thread, BiFunction<DebugSession, WarpId, CompletableFuture<Outcome>> how) {
    return perform(() -> {
      control.move(launched(), thread, how);
    });
  }

  private static boolean isInstruction(@Nullable SteppingGranularity granularity) {
    return granularity == SteppingGranularity.INSTRUCTION;
  }

  /** Goes to the other access of the last finding. */
  @JsonRequest(OTHER_ACCESS)
  public CompletableFuture<Void> otherAccess(Map<String, Object> arguments) {
    return perform(() -> {
      control.begin(launched(), launched()::toOther);
    });
  }

  /** Goes back to the last finding. */
  @JsonRequest(FINDING)
  public CompletableFuture<Void> finding(Map<String, Object> arguments) {
    return perform(() -> {
      control.begin(launched(), launched()::toFinding);
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
      control.afterResponse(() -> {
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

  private Inspection inspection() {
    return new Inspection(launched());
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
}
