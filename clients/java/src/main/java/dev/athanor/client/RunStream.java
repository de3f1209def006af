package dev.athanor.client;

import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.api.v1.RunStreamResponse;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The calls of a gRPC stream, which the service answers in order. */
final class RunStream
    implements Session.Runner, ClientResponseObserver<RunRequest, RunStreamResponse> {

  /** The maximum number of unanswered calls. */
  static final int WINDOW = 256;

  private final Session session;
  private final String url;
  private final Lock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Queue<Sent> unanswered = new ArrayDeque<>();
  private final CountDownLatch ended = new CountDownLatch(1);

  @SuppressWarnings("NullAway.Init") // gRPC calls beforeStart first
  private ClientCallStreamObserver<RunRequest> requests;

  /** The thread that completes a future, if any. */
  private volatile @Nullable Thread receiver;

  private boolean closed;
  private @Nullable AthanorException end;

  /** A call whose request was sent. */
  private record Sent(OpCall call, long began, CompletableFuture<RunResponse> response) {}

  RunStream(Session session, String url) {
    this.session = session;
    this.url = url;
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<RunRequest> call) {
    requests = call;
    call.setOnReadyHandler(this::ready);
    session.streams.add(this);
  }

  private void ready() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletableFuture<Map<String, Transport.Output>> run(
      OpCall call, Map<String, Transport.Target> targets) {
    if (call.deadline() != null) {
      throw notSent(call, "deadline");
    }
    if (call.priority() != 0) {
      throw notSent(call, "priority");
    }
    rejectReceiver();
    var request = Protos.run(call, targets, null);
    var sent = new Sent(call, System.nanoTime(), new CompletableFuture<>());
    var outputs = Futures.map(sent.response, answer -> GrpcTransport.outputs(call, answer));
    lock.lock();
    try {
      awaitCapacity();
      unanswered.add(sent);
      requests.onNext(request);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Failures.interrupted(e);
    } finally {
      lock.unlock();
    }
    return outputs;
  }

  private static IllegalArgumentException notSent(OpCall call, String property) {
    return new IllegalArgumentException(
        "The call of %s has a %s, but calls of a stream cannot have one; call %1$s on the client itself."
            .formatted(call.op(), property));
  }

  /** Rejects a wait by the thread that would end it. */
  private void rejectReceiver() {
    if (Thread.currentThread().equals(receiver)) {
      throw new IllegalStateException(
          "A dependent stage of a stream's future must not call the stream; use an asynchronous stage, such as thenComposeAsync.");
    }
  }

  private void awaitCapacity() throws InterruptedException {
    while (true) {
      if (closed || session.isClosed()) {
        throw new AthanorException(AthanorException.CLOSED, "The stream is closed.", null);
      }
      if (end != null) {
        throw new AthanorException(
            end.code(), "The stream has ended; open another with stream(). " + end.detail(), end);
      }
      if (requests.isReady() && unanswered.size() < WINDOW) {
        return;
      }
      changed.await();
    }
  }

  @Override
  public void onNext(RunStreamResponse answer) {
    var failure =
        answer.hasResponse()
            ? null
            : GrpcFailures.of(StatusProto.toStatusRuntimeException(answer.getError()), url);
    var sent = next();
    if (sent == null) {
      end(Failures.malformed("it belongs to no call", null));
      return;
    }
    receiver = Thread.currentThread();
    try {
      if (failure == null) {
        succeed(sent, answer.getResponse());
      } else {
        fail(sent, failure);
      }
    } finally {
      receiver = null;
    }
  }

  private @Nullable Sent next() {
    lock.lock();
    try {
      changed.signalAll();
      return unanswered.poll();
    } finally {
      lock.unlock();
    }
  }

  private void succeed(Sent sent, RunResponse response) {
    session.report(sent.call.op(), sent.began, null);
    if (sent.response.complete(response)) {
      return;
    }
    // The caller cancelled it and does not get the new tensors.
    response
        .getOutputsMap()
        .forEach((name, output) -> {
          if (output.hasResident() && !sent.call.into().containsKey(name)) {
            var handle = output.getResident().getHandle();
            var unwanted = new Resident(session, handle, Duration.ZERO);
            Futures.on(unwanted.free(), (deleted, failure) -> {});
          }
        });
  }

  private void fail(Sent sent, AthanorException failure) {
    session.report(sent.call.op(), sent.began, failure);
    sent.response.completeExceptionally(failure);
  }

  @Override
  public void onError(Throwable failure) {
    end(GrpcFailures.of(failure, url));
  }

  @Override
  public void onCompleted() {
    end(
        new AthanorException(
            AthanorException.CONNECTION_LOST, "The service ended the stream.", null));
  }

  /** Ends the stream and fails the unanswered calls; has no effect on a stream that has ended. */
  void end(AthanorException failure) {
    List<Sent> lost;
    lock.lock();
    try {
      if (end != null) {
        return;
      }
      end = failure;
      lost = List.copyOf(unanswered);
      unanswered.clear();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    requests.cancel(failure.detail(), failure);
    session.streams.remove(this);
    lost.forEach(sent -> fail(sent, failure));
    ended.countDown();
  }

  /** Waits for the results of all calls. */
  void close() {
    rejectReceiver();
    lock.lock();
    try {
      if (end != null) {
        closed = true;
        return;
      }
      if (!closed) {
        closed = true;
        requests.onCompleted();
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    try {
      ended.await();
    } catch (InterruptedException e) {
      end(Failures.interrupted(e));
      Thread.currentThread().interrupt();
    }
  }
}
