package dev.athanor.client;

import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** HTTP message bodies as buffers, without intermediate copies. */
final class Bodies {

  /** Maximum bytes per piece: the channel copies whole heap buffers to native memory. */
  private static final int PIECE = 1 << 18;

  private static final int FIRST_CAPACITY = 1 << 12;

  private Bodies() {}

  /** Returns a repeatable publisher of buffers. */
  static BodyPublisher of(List<ByteBuffer> buffers) {
    long length = buffers.stream().mapToLong(ByteBuffer::remaining).sum();
    Flow.Publisher<ByteBuffer> publisher =
        subscriber -> subscriber.onSubscribe(new Sending(subscriber, buffers));
    return length == 0 ? BodyPublishers.noBody() : BodyPublishers.fromPublisher(publisher, length);
  }

  private static final class Sending implements Flow.Subscription {
    private final Flow.Subscriber<? super ByteBuffer> subscriber;
    private final Deque<ByteBuffer> rest = new ArrayDeque<>();
    private long demand;
    private boolean running;
    private boolean done;

    Sending(Flow.Subscriber<? super ByteBuffer> subscriber, List<ByteBuffer> buffers) {
      this.subscriber = subscriber;
      for (var buffer : buffers) {
        if (buffer.hasRemaining()) {
          rest.add(buffer.duplicate());
        }
      }
    }

    @Override
    public void request(long n) {
      synchronized (this) {
        demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
        if (running) {
          return; // the loop below sees the demand
        }
        running = true;
      }
      for (var piece = next(); piece != null; piece = next()) {
        subscriber.onNext(piece);
      }
    }

    /** Returns the next piece; null without demand, or after completing if all pieces are sent. */
    private @Nullable ByteBuffer next() {
      boolean complete;
      synchronized (this) {
        var first = rest.peek();
        if (first != null && demand > 0 && !done) {
          demand--;
          var piece = first.slice();
          piece.limit(Math.min(piece.limit(), PIECE));
          first.position(first.position() + piece.limit());
          if (!first.hasRemaining()) {
            rest.remove();
          }
          return piece;
        }
        complete = first == null && !done;
        done |= complete;
        running = false;
      }
      if (complete) {
        subscriber.onComplete();
      }
      return null;
    }

    @Override
    public synchronized void cancel() {
      done = true;
    }
  }

  /** Reads a body into one buffer of the announced length. */
  static BodyHandler<ByteBuffer> toBuffer() {
    return info -> {
      long length = info.headers().firstValueAsLong("Content-Length").orElse(FIRST_CAPACITY);
      return new Receiving(ByteBuffer.allocate((int) Math.min(length, 1 << 30)), true);
    };
  }

  /** Reads the body of a successful response into the buffer without changing its position. */
  static BodyHandler<ByteBuffer> into(ByteBuffer target) {
    return info ->
        info.statusCode() < 300 ? new Receiving(target.slice(), false) : toBuffer().apply(info);
  }

  private static final class Receiving implements BodySubscriber<ByteBuffer> {
    private final CompletableFuture<ByteBuffer> body = new CompletableFuture<>();
    private final boolean growing;
    private ByteBuffer target;
    private Flow.@Nullable Subscription subscription;

    Receiving(ByteBuffer target, boolean growing) {
      this.target = target;
      this.growing = growing;
    }

    @Override
    public CompletionStage<ByteBuffer> getBody() {
      return body;
    }

    @Override
    public void onSubscribe(Flow.Subscription s) {
      subscription = s;
      s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> items) {
      for (var item : items) {
        if (item.remaining() > target.remaining()) {
          if (!growing) {
            fail("the body is longer than the requested %d bytes".formatted(target.capacity()));
            return;
          }
          grow(item.remaining());
        }
        target.put(item);
      }
    }

    private void grow(int more) {
      long needed = (long) target.position() + more;
      long capacity = Math.max(needed, Math.min(2L * target.capacity(), Integer.MAX_VALUE - 8));
      target = ByteBuffer.allocate(Math.toIntExact(capacity)).put(target.flip());
    }

    private void fail(String message) {
      if (subscription != null) {
        subscription.cancel();
      }
      body.completeExceptionally(new Failures.MalformedAnswer(message));
    }

    @Override
    public void onError(Throwable throwable) {
      body.completeExceptionally(throwable);
    }

    @Override
    public void onComplete() {
      if (!growing && target.hasRemaining()) {
        fail("the body is shorter than the requested %d bytes".formatted(target.capacity()));
      } else {
        body.complete(target.flip());
      }
    }
  }
}
