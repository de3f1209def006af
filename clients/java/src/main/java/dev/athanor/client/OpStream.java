package dev.athanor.client;

import dev.athanor.client.ops.AsyncOperations;

/**
 * Operations over one gRPC stream. The service runs the calls in order, and their futures complete
 * in order. A call does not wait for earlier ones, but may use the tensors that they write:
 *
 * <pre>{@code
 * try (var stream = athanor.stream()) {
 *   for (var x : inputs) {
 *     stream.matmul(x, w, o -> o.intoC(h));
 *     results.add(stream.inline().relu(h));
 *   }
 * }
 * }</pre>
 *
 * <ul>
 *   <li>A call blocks while the connection cannot take its request or 256 calls are unanswered.
 *   <li>A failed call does not stop later ones. Calls are not retried or sent to another replica.
 *   <li>Cancelling a future discards its result. The service still runs the call.
 *   <li>Calls have no deadline, and {@code deadline} and {@code priority} are rejected. {@link
 *       java.util.concurrent.CompletableFuture#orTimeout} bounds the wait for a result.
 *   <li>If the connection is lost, unanswered calls, which may have run, and later calls fail; open
 *       another stream.
 *   <li>A dependent stage of a future must not call the stream or close it, unless it is
 *       asynchronous, such as {@code thenComposeAsync}.
 *   <li>Close a tensor only after the calls that use it have completed.
 * </ul>
 *
 * <p>Thread-safe.
 */
public final class OpStream extends AsyncOperations<Tensor> implements AutoCloseable {

  private final Session session;
  private final RunStream stream;

  OpStream(Session session, RunStream stream) {
    super(call -> session.runOnDevice(call, stream));
    this.session = session;
    this.stream = stream;
  }

  /** Returns the operations of this stream with results on the host. */
  public AsyncOperations<HostTensor> inline() {
    return new AsyncOperations<>(call -> session.runInline(call, stream));
  }

  /**
   * Waits for the results of all calls and closes the stream; later calls fail with code {@code
   * closed}. An interrupt ends the wait: the calls fail with code {@code interrupted}.
   */
  @Override
  public void close() {
    stream.close();
  }
}
