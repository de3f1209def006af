package dev.athanor.client;

import dev.athanor.client.ops.AsyncOperations;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** Non-blocking operations. Cancelling a future cancels its call. */
public final class AsyncAthanor extends AsyncOperations<Tensor> {

  private final Session session;

  AsyncAthanor(Session session) {
    super(session::runOnDevice);
    this.session = session;
  }

  /** Returns the operations with results on the host. */
  public AsyncOperations<HostTensor> inline() {
    return new AsyncOperations<>(session::runInline);
  }

  /** Copies values to the device. */
  public CompletableFuture<Tensor> upload(HostTensor values) {
    return upload(values, options -> {});
  }

  /** Copies values to the device. */
  public CompletableFuture<Tensor> upload(HostTensor values, Consumer<UploadOptions> options) {
    var chosen = new UploadOptions();
    options.accept(chosen);
    return session.upload(values, chosen);
  }

  /** Stores values under a name; see {@link Athanor#store(String, HostTensor, Consumer)}. */
  public CompletableFuture<Tensor> store(
      String name, HostTensor values, Consumer<StoreOptions> options) {
    var chosen = new StoreOptions();
    options.accept(chosen);
    return session.store(name, values, chosen);
  }

  /** Runs a stored model; see {@link Athanor#runModel}. */
  public CompletableFuture<Map<String, Tensor>> runModel(
      String name, Map<String, Operand> inputs, List<String> outputs) {
    return session.models.run(name, null, inputs, outputs);
  }

  /** Runs a stored model in a session; see {@link Athanor#runModel}. */
  public CompletableFuture<Map<String, Tensor>> runModel(
      String name, String sessionId, Map<String, Operand> inputs, List<String> outputs) {
    return session.models.run(name, sessionId, inputs, outputs);
  }

  /**
   * Generates tokens; see {@link Athanor#generate(String, GenerateRequest, LongConsumer)}.
   * Cancelling the future ends the generation.
   */
  public CompletableFuture<Generation> generate(
      String name, GenerateRequest request, LongConsumer receiver) {
    return session.models.generate(name, request, receiver);
  }

  /** Runs a pipeline. */
  public CompletableFuture<Pipeline.Result> run(Pipeline pipeline) {
    return pipeline.runAsync();
  }
}
