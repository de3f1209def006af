package dev.athanor.service.replica;

import java.net.http.HttpRequest;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Flow;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The body of a forwarded request. The thread of the request reads from the client and hands the
 * bytes over here, since the container's stream belongs to that thread and ends with the request.
 */
final class RequestBody implements HttpRequest.BodyPublisher {

  private static final int MOST_DEMAND = 1 << 16;

  private final long length;
  private final Semaphore demand = new Semaphore(0);
  private volatile Flow.@Nullable Subscriber<? super ByteBuffer> subscriber;

  /**
   * @param length in bytes; -1 where it is not known
   */
  RequestBody(long length) {
    this.length = length;
  }

  @Override
  public long contentLength() {
    return length;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super ByteBuffer> to) {
    subscriber = to;
    to.onSubscribe(
        new Flow.Subscription() {
          @Override
          public void request(long n) {
            demand.release((int) Math.min(n, MOST_DEMAND));
          }

          @Override
          public void cancel() {
            demand.drainPermits();
          }
        });
  }

  /** Waits until a piece is wanted; whether one is. */
  boolean isWanted(Duration wait) throws InterruptedException {
    return demand.tryAcquire(wait.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Sends a piece, which is wanted. */
  void send(byte[] piece) {
    var to = subscriber;
    if (to != null) {
      to.onNext(ByteBuffer.wrap(piece));
    }
  }

  /** Ends the body. */
  void end() {
    var to = subscriber;
    if (to != null) {
      to.onComplete();
    }
  }
}
