package dev.athanor.client;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Runs operations without blocking.
 *
 * @param <T> the type of a result
 */
public abstract class OpRunner<T> {

  private final Function<OpCall, CompletableFuture<Map<String, T>>> runner;

  /** Creates a runner that runs calls with a function. */
  protected OpRunner(Function<OpCall, CompletableFuture<Map<String, T>>> runner) {
    this.runner = runner;
  }

  /**
   * Runs a call and returns its outputs by name. Cancelling the future cancels the call, except in
   * an {@link OpStream}.
   */
  public final CompletableFuture<Map<String, T>> run(OpCall call) {
    return runner.apply(call);
  }

  /** Runs a call and converts its outputs. */
  protected final <R> CompletableFuture<R> run(OpCall call, Function<Map<String, T>, R> outputs) {
    return Futures.map(run(call), outputs);
  }

  /** Returns an output that the response must contain. */
  protected static <T> T output(Map<String, T> outputs, String name) {
    var output = outputs.get(name);
    if (output == null) {
      throw new Failures.MalformedAnswer("output `%s` is missing".formatted(name));
    }
    return output;
  }
}
