package dev.athanor.service.replica;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The body of a replica's response, fetched piece by piece. */
public final class ResponseBody
    implements HttpResponse.BodySubscriber<ResponseBody>, AutoCloseable {

  /** What arrives: bytes, or the end. */
  private sealed interface Event {
    record Bytes(List<ByteBuffer> buffers) implements Event {}

    record End(@Nullable Throwable failure) implements Event {}
  }

  private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
  private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
  private final AtomicBoolean ended = new AtomicBoolean();

  @Override
  public CompletionStage<ResponseBody> getBody() {
    return CompletableFuture.completedFuture(this);
  }

  @Override
  public void onSubscribe(Flow.Subscription to) {
    subscription.complete(to);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    events.add(new Event.Bytes(buffers));
  }

  @Override
  public void onError(Throwable failure) {
    events.add(new Event.End(failure));
  }

  @Override
  public void onComplete() {
    events.add(new Event.End(null));
  }

  /**
   * The next piece; empty at the end.
   *
   * @param wait how long it may take
   * @throws IOException when the owner breaks off, or sends nothing for so long
   */
  List<ByteBuffer> next(Duration wait) throws IOException, InterruptedException {
    var _ = subscription.thenAccept(to -> to.request(1));
    var event = events.poll(wait.toNanos(), TimeUnit.NANOSECONDS);
    return switch (event) {
      case null -> throw new HttpTimeoutException("no bytes in %s".formatted(wait));
      case Event.Bytes(var buffers) -> buffers;
      case Event.End(var failure) -> {
        ended.set(true);
        if (failure != null) {
          throw new IOException(failure);
        }
        yield List.of();
      }
    };
  }

  /** Fetches no more; the owner learns that nobody waits, unless it has sent all. */
  @Override
  public void close() {
    if (!ended.get()) {
      var _ = subscription.thenAccept(Flow.Subscription::cancel);
    }
  }
}
