package dev.athanor.client;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Runs operations and waits for their results.
 *
 * @param <T> the type of a result
 */
public abstract class OpAwaiter<T> {

  private final OpRunner<T> runner;

  /** Creates an awaiter of the calls of a runner. */
  protected OpAwaiter(OpRunner<T> runner) {
    this.runner = runner;
  }

  /** Runs a call, for example of a plugin's operation, and returns its outputs by name. */
  public final Map<String, T> run(OpCall call) {
    return await(runner.run(call));
  }

  /** Waits for a call and cancels it if the thread is interrupted. */
  protected static <R> R await(CompletableFuture<R> call) {
    return Futures.await(call);
  }
}
