package dev.athanor.service.grpc;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import io.grpc.stub.ServerCallStreamObserver;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Sends messages to a client with flow control. */
final class MessageSender<T> {

  /** Buffered bytes below which the next message is produced, so that the client never waits. */
  private static final int AHEAD = 1 << 19;

  private final ServerCallStreamObserver<T> call;
  private final Duration idle;
  private final Deadline deadline;

  /**
   * @param idle maximum time to wait for the client
   */
  MessageSender(ServerCallStreamObserver<T> call, Duration idle, Deadline deadline) {
    this.call = call;
    this.idle = idle;
    this.deadline = deadline;
    call.setOnReadyThreshold(AHEAD);
    call.setOnReadyHandler(this::ready);
  }

  private synchronized void ready() {
    notifyAll();
  }

  /**
   * Sends a message as soon as fewer than {@link #AHEAD} bytes are buffered.
   *
   * @throws Failure.Refused with {@code deadline-exceeded} if the client stalls
   */
  synchronized void send(T message) {
    long until = System.nanoTime() + Math.min(idle.toNanos(), deadline.remainingNanos());
    try {
      while (!call.isReady()) {
        long left = until - System.nanoTime();
        if (left <= 0) {
          deadline.check();
          throw idle("the client read nothing", idle);
        }
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    } catch (InterruptedException e) {
      throw gone();
    }
    call.onNext(message);
  }

  void complete() {
    call.onCompleted();
  }

  /** Returns the failure for a stream on which the client is idle. */
  static Failure idle(String what, Duration idle) {
    return new Failure.Refused(
        Code.DEADLINE_EXCEEDED,
        "%s for %d ms; the stream was canceled".formatted(what, idle.toMillis()));
  }

  static Failure gone() {
    return Failure.clientGone();
  }
}
