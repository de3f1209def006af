package dev.athanor.service.grpc;

import com.google.protobuf.MessageLite;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Failure;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * The requests of one stream. They start in the order in which they arrive, while earlier ones
 * still run, and a second thread sends the responses in the same order. The next request is read
 * only if few are unanswered and the client has received previous responses, except for buffered
 * ones (flow control).
 *
 * @param <Q> the type of requests
 * @param <R> the type of results
 * @param <A> the type of responses
 */
final class RequestStream<Q extends MessageLite, R, A> implements StreamObserver<Q> {

  /** Maximum number of requests that are read but not answered. */
  static final int MAX_UNANSWERED = 16;

  /** Size of unanswered requests, in bytes, from which on no further one is read. */
  private static final long MAX_UNANSWERED_BYTES = 1 << 20;

  /** Starts a request and returns what waits for its result. */
  interface Start<Q, R> extends BiFunction<Q, RequestMemory, Supplier<R>> {}

  /**
   * Waits for the result of a request and returns the response, also if the request failed. Throws
   * an exception to end the stream with it.
   */
  interface Respond<Q, R, A> extends BiFunction<Q, Supplier<R>, A> {}

  /** A started request; the supplier waits for its result or throws its failure. */
  private record Run<R>(RequestMemory memory, Supplier<R> result) {}

  private final GrpcCalls calls;
  private final InlineMemory inline;
  private final ServerCallStreamObserver<A> responses;
  private final Start<Q, R> start;
  private final Respond<Q, R, A> respond;

  /** Work that sends the response of each unanswered request; empty after the last. */
  private final BlockingQueue<Optional<Runnable>> queue = new LinkedBlockingQueue<>();

  // guarded by this

  private long received;
  private long answered;
  private long unansweredBytes;
  private boolean isReading;

  /** Whether a failure has ended the stream. Only the thread that sends responses uses it. */
  private boolean failed;

  RequestStream(
      GrpcCalls calls,
      InlineMemory inline,
      StreamObserver<A> responses,
      Start<Q, R> start,
      Respond<Q, R, A> respond) {
    this.calls = calls;
    this.inline = inline;
    this.responses = (ServerCallStreamObserver<A>) responses;
    this.start = start;
    this.respond = respond;
    this.responses.disableAutoRequest();
    this.responses.setOnReadyHandler(this::readNext);
    // a call that fails for another reason, such as a malformed message, only closes
    this.responses.setOnCancelHandler(this::onCompleted);
    this.responses.setOnCloseHandler(this::onCompleted);
    GrpcCalls.start(this::sendAll);
  }

  private synchronized void readNext() {
    if (!isReading
        && received - answered < MAX_UNANSWERED
        && unansweredBytes < MAX_UNANSWERED_BYTES
        && responses.isReady()) {
      isReading = true;
      responses.request(1);
    }
  }

  @Override
  public void onNext(Q request) {
    read(request);
    var run = start(request);
    queue.add(
        Optional.of(() -> {
          try (run.memory) {
            send(request, run.result);
          }
          answered(request);
        }));
    readNext();
  }

  private synchronized void read(Q request) {
    isReading = false;
    received++;
    unansweredBytes += request.getSerializedSize();
  }

  private synchronized void answered(Q request) {
    answered++;
    unansweredBytes -= request.getSerializedSize();
    notifyAll();
    readNext();
  }

  /**
   * Starts a request. If the service is too busy for it, waits for earlier requests of the stream,
   * which contribute to that.
   */
  private Run<R> start(Q request) {
    while (true) {
      long before = answered();
      var memory = inline.open(GrpcCalls.account());
      try {
        return new Run<>(memory, calls.abandonable(() -> start.apply(request, memory)));
      } catch (RuntimeException e) {
        if (!(e instanceof Failure.Busy) || !awaitResponseAfter(before)) {
          return new Run<>(
              memory,
              () -> {
                throw e;
              });
        }
        memory.close();
      }
    }
  }

  private synchronized long answered() {
    return answered;
  }

  /**
   * Waits until more than {@code before} requests are answered.
   *
   * @return false if all earlier requests were answered before
   */
  private synchronized boolean awaitResponseAfter(long before) {
    try {
      while (answered == before && received - answered > 1) {
        wait();
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    return answered > before;
  }

  private static IllegalStateException interrupted(InterruptedException e) {
    return new IllegalStateException("only the work of requests is interrupted", e);
  }

  private void sendAll() {
    try {
      for (var next = queue.take(); next.isPresent(); next = queue.take()) {
        next.get().run();
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    if (!failed) {
      responses.onCompleted();
    }
  }

  /** Sends a response. After a failure of the stream, only waits for the end of the request. */
  private void send(Q request, Supplier<R> result) {
    try {
      var response = calls.abandonable(() -> respond.apply(request, result));
      if (!failed) {
        responses.onNext(response);
      }
    } catch (RuntimeException | Error e) {
      if (!failed) {
        failed = true;
        responses.onError(Statuses.of(e));
      }
    }
  }

  @Override
  public void onCompleted() {
    queue.add(Optional.empty());
  }

  /** The client has disconnected; the handler for that ends the stream. */
  @Override
  public void onError(Throwable gone) {}
}
