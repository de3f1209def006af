package dev.athanor.cli.debug;

import dev.athanor.engine.debug.DebugSession;
import dev.athanor.engine.debug.Outcome;
import dev.athanor.engine.debug.WarpId;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.eclipse.lsp4j.jsonrpc.MessageConsumer;
import org.eclipse.lsp4j.jsonrpc.messages.ResponseMessage;

/**
 * Commands that continue launches. They start after the responses to their requests, as clients
 * expect.
 */
final class RunControl {
  private final ConcurrentLinkedQueue<Runnable> commands = new ConcurrentLinkedQueue<>();

  /** Starts pending commands after each response. */
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

  /** Runs a task after the current response. */
  void afterResponse(Runnable work) {
    commands.add(work);
  }

  /** Starts a command after the current response. */
  void begin(LaunchedSession session, Supplier<CompletableFuture<Outcome>> command) {
    afterResponse(() -> session.begin(command));
  }

  /**
   * Steps the warp of a thread after the current response.
   *
   * @throws IllegalArgumentException if the thread is unknown
   * @throws IllegalStateException if the launches are not stopped
   */
  void move(
      LaunchedSession session,
      int thread,
      BiFunction<DebugSession, WarpId, CompletableFuture<Outcome>> how) {
    session.view();
    var warp = session.warp(thread);
    begin(session, () -> how.apply(session.session(), warp));
  }
}
