package dev.athanor.cli.debug;

import static java.util.Objects.requireNonNull;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.eclipse.lsp4j.debug.ConfigurationDoneArguments;
import org.eclipse.lsp4j.debug.EvaluateArguments;
import org.eclipse.lsp4j.debug.EvaluateResponse;
import org.eclipse.lsp4j.debug.InitializeRequestArguments;
import org.eclipse.lsp4j.debug.OutputEventArguments;
import org.eclipse.lsp4j.debug.ReadMemoryArguments;
import org.eclipse.lsp4j.debug.Scope;
import org.eclipse.lsp4j.debug.ScopesArguments;
import org.eclipse.lsp4j.debug.SetBreakpointsArguments;
import org.eclipse.lsp4j.debug.Source;
import org.eclipse.lsp4j.debug.SourceBreakpoint;
import org.eclipse.lsp4j.debug.StackFrame;
import org.eclipse.lsp4j.debug.StackTraceArguments;
import org.eclipse.lsp4j.debug.StoppedEventArguments;
import org.eclipse.lsp4j.debug.TerminatedEventArguments;
import org.eclipse.lsp4j.debug.Variable;
import org.eclipse.lsp4j.debug.VariablesArguments;
import org.eclipse.lsp4j.debug.launch.DSPLauncher;
import org.eclipse.lsp4j.debug.services.IDebugProtocolClient;
import org.eclipse.lsp4j.debug.services.IDebugProtocolServer;
import org.eclipse.lsp4j.jsonrpc.Endpoint;
import org.jspecify.annotations.Nullable;

/** A client that behaves like an editor. */
final class DebugClient implements IDebugProtocolClient {
  private final BlockingQueue<Object> events = new LinkedBlockingQueue<>();
  private final Queue<String> printed = new ConcurrentLinkedQueue<>();
  final IDebugProtocolServer server;
  private final Endpoint endpoint;

  /** Completes when the server closes its stream. */
  final Future<Void> listening;

  DebugClient(InputStream in, OutputStream out) {
    var launcher = DSPLauncher.createClientLauncher(this, in, out);
    listening = launcher.startListening();
    server = launcher.getRemoteProxy();
    endpoint = launcher.getRemoteEndpoint();
  }

  /** Sends the requests up to the launch and waits for the initialized event. */
  void launch(Map<String, Object> arguments) throws Exception {
    server.initialize(new InitializeRequestArguments()).get();
    server.launch(arguments).get();
    next(String.class);
  }

  /** Starts the launches. */
  void start() throws Exception {
    server.configurationDone(new ConfigurationDoneArguments()).get();
  }

  /** Sends a request that extends the protocol. */
  void custom(String method) throws Exception {
    endpoint.request(method, Map.of()).get();
  }

  StoppedEventArguments stopped() throws Exception {
    return next(StoppedEventArguments.class);
  }

  void terminated() throws Exception {
    next(TerminatedEventArguments.class);
  }

  private <T> T next(Class<T> type) throws InterruptedException {
    var event = events.take();
    if (!type.isInstance(event)) {
      throw new AssertionError(
          "expected %s, got %s; printed: %s".formatted(type.getSimpleName(), event, printed()));
    }
    return type.cast(event);
  }

  String printed() {
    return String.join("", printed);
  }

  org.eclipse.lsp4j.debug.Breakpoint breakpoint(String path, int line, @Nullable String condition)
      throws Exception {
    var source = new Source();
    source.setPath(path);
    var breakpoint = new SourceBreakpoint();
    breakpoint.setLine(line);
    breakpoint.setCondition(condition);
    var arguments = new SetBreakpointsArguments();
    arguments.setSource(source);
    arguments.setBreakpoints(new SourceBreakpoint[] {breakpoint});
    return server.setBreakpoints(arguments).get().getBreakpoints()[0];
  }

  StackFrame[] frames(int thread) throws Exception {
    var arguments = new StackTraceArguments();
    arguments.setThreadId(thread);
    return server.stackTrace(arguments).get().getStackFrames();
  }

  Scope[] scopes(int frame) throws Exception {
    var arguments = new ScopesArguments();
    arguments.setFrameId(frame);
    return server.scopes(arguments).get().getScopes();
  }

  Variable[] variables(int reference, @Nullable Integer start, @Nullable Integer count)
      throws Exception {
    var arguments = new VariablesArguments();
    arguments.setVariablesReference(reference);
    arguments.setStart(start);
    arguments.setCount(count);
    return server.variables(arguments).get().getVariables();
  }

  /** Returns a variable of a scope. */
  Variable variable(int frame, String scope, String name) throws Exception {
    for (var each : scopes(frame)) {
      if (each.getName().equals(scope)) {
        for (var variable : variables(each.getVariablesReference(), null, null)) {
          if (variable.getName().equals(name)) {
            return variable;
          }
        }
      }
    }
    throw new AssertionError("no %s in %s".formatted(name, scope));
  }

  String evaluate(String expression, @Nullable Integer frame) throws Exception {
    var arguments = new EvaluateArguments();
    arguments.setExpression(expression);
    arguments.setFrameId(frame);
    return server.evaluate(arguments).get().getResult();
  }

  /**
   * Evaluates an expression.
   *
   * @param context such as {@code watch}
   */
  EvaluateResponse evaluate(String expression, int frame, String context) throws Exception {
    var arguments = new EvaluateArguments();
    arguments.setExpression(expression);
    arguments.setFrameId(frame);
    arguments.setContext(context);
    return server.evaluate(arguments).get();
  }

  String memory(String reference, int offset, int count) throws Exception {
    var arguments = new ReadMemoryArguments();
    arguments.setMemoryReference(reference);
    arguments.setOffset(offset);
    arguments.setCount(count);
    return server.readMemory(arguments).get().getData();
  }

  /** Returns the error message of a failing request. */
  static String failure(Request request) throws Exception {
    try {
      request.send();
    } catch (ExecutionException e) {
      return String.valueOf(requireNonNull(e.getCause()).getMessage());
    }
    throw new AssertionError("the request succeeded");
  }

  /** A request that may fail. */
  interface Request {
    void send() throws Exception;
  }

  @Override
  public void initialized() {
    events.add("initialized");
  }

  @Override
  public void stopped(StoppedEventArguments arguments) {
    events.add(arguments);
  }

  @Override
  public void terminated(TerminatedEventArguments arguments) {
    events.add(arguments);
  }

  @Override
  public void output(OutputEventArguments arguments) {
    printed.add(arguments.getOutput());
  }
}
