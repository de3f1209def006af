package dev.athanor.client;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Runs calls of operations and waits for them.
 *
 * @param <T> the type of a result
 */
public abstract class OpAwaiter<T> {

  private final OpRunner<T> runner;

  /** Waits for the calls of this runner. */
  protected OpAwaiter(OpRunner<T> runner) {
    this.runner = runner;
  }

  /** Runs a call, such as one of a plugin's operation, and returns its outputs by name. */
  public final Map<String, T> run(OpCall call) {
    return await(runner.run(call));
  }

  /** Waits for a call, and cancels it if the thread is interrupted. */
  protected static <R> R await(CompletableFuture<R> call) {
    return Futures.await(call);
  }
}
