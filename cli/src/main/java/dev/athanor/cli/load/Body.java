package dev.athanor.cli.load;

import java.net.http.HttpRequest.BodyPublisher;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow.Subscriber;
import java.util.concurrent.Flow.Subscription;

/**
 * A body that is sent any number of times without being copied: views of one buffer outside of the
 * heap go to the socket.
 */
final class Body implements BodyPublisher {

  private static final int PIECE = 1 << 20;

  private final ByteBuffer bytes;

  Body(byte[] bytes) {
    this.bytes = ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  @Override
  public long contentLength() {
    return bytes.limit();
  }

  @Override
  public void subscribe(Subscriber<? super ByteBuffer> subscriber) {
    subscriber.onSubscribe(new Sending(subscriber));
  }

  /** The client asks for pieces one after the other, from within {@code onNext} too. */
  private final class Sending implements Subscription {
    private final Subscriber<? super ByteBuffer> subscriber;
    private long wanted;
    private int at;
    private boolean busy;
    private boolean over;

    Sending(Subscriber<? super ByteBuffer> subscriber) {
      this.subscriber = subscriber;
    }

    @Override
    public synchronized void request(long count) {
      wanted += count;
      if (busy) {
        return;
      }
      busy = true;
      while (wanted > 0 && !over && at < bytes.limit()) {
        int length = Math.min(PIECE, bytes.limit() - at);
        var piece = bytes.slice(at, length).asReadOnlyBuffer();
        at += length;
        wanted--;
        subscriber.onNext(piece);
      }
      busy = false;
      if (!over && at == bytes.limit()) {
        over = true;
        subscriber.onComplete();
      }
    }

    @Override
    public synchronized void cancel() {
      over = true;
    }
  }
}
