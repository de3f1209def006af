package dev.athanor.service.grpc;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import io.grpc.stub.ServerCallStreamObserver;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Messages to a client, sent as fast as it takes them. */
final class Outflow<T> {

  /** With fewer bytes waiting for the client the next message is made, lest it waits for us. */
  private static final int AHEAD = 1 << 19;

  private final ServerCallStreamObserver<T> call;
  private final Duration idle;
  private final Deadline deadline;

  /**
   * @param idle how long to wait for the client
   */
  Outflow(ServerCallStreamObserver<T> call, Duration idle, Deadline deadline) {
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
   * Sends a message once the client has taken what was sent before, but for what is on its way.
   *
   * @throws Failure.Refused with {@code deadline-exceeded} when it does not
   */
  synchronized void send(T message) {
    long until = System.nanoTime() + Math.min(idle.toNanos(), deadline.remainingNanos());
    try {
      while (!call.isReady()) {
        long left = until - System.nanoTime();
        if (left <= 0) {
          deadline.check();
          throw idle("the client took nothing", idle);
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

  /** A client that keeps a stream and does nothing with it. */
  static Failure idle(String what, Duration idle) {
    return new Failure.Refused(
        Code.DEADLINE_EXCEEDED,
        "%s for %d ms; the stream was given up".formatted(what, idle.toMillis()));
  }

  static Failure gone() {
    return Failure.clientGone();
  }
}
