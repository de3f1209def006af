package dev.athanor.client;

import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.IntStream;

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

  /**
   * Returns the first outputs of a list.
   *
   * @throws IllegalArgumentException if the response contains fewer
   */
  protected static <T> List<T> outputs(Map<String, T> outputs, String list, int count) {
    var names = IntStream.range(0, count).mapToObj(i -> list + i).toList();
    if (!outputs.keySet().containsAll(names)) {
      throw new IllegalArgumentException(
          "The operation returned %s; the call requests %d outputs of the list %s."
              .formatted(new TreeSet<>(outputs.keySet()), count, list));
    }
    return names.stream().map(name -> output(outputs, name)).toList();
  }
}
