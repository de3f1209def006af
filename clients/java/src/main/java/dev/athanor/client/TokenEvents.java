package dev.athanor.client;

import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Receives the server-sent events of a generation. The body is the data of the last event. */
final class TokenEvents implements BodySubscriber<ByteBuffer> {

  private static final String EVENT = "event: ";
  private static final String DATA = "data: ";

  private final LongConsumer receiver;
  private final List<Long> tokens = new ArrayList<>();
  private final CompletableFuture<ByteBuffer> body = new CompletableFuture<>();
  private final ByteArrayOutputStream line = new ByteArrayOutputStream();
  private String event = "";
  private @Nullable ByteBuffer end;
  private Flow.@Nullable Subscription subscription;

  TokenEvents(LongConsumer receiver) {
    this.receiver = receiver;
  }

  /** Returns the tokens that have arrived. */
  List<Long> tokens() {
    return tokens;
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
    try {
      for (var item : items) {
        while (item.hasRemaining() && !body.isDone()) {
          byte next = item.get();
          if (next == '\n') {
            line(line.toString(StandardCharsets.UTF_8));
            line.reset();
          } else {
            line.write(next);
          }
        }
      }
    } catch (RuntimeException | Error e) { // also of the receiver
      if (subscription != null) {
        subscription.cancel();
      }
      body.completeExceptionally(e);
    }
  }

  private void line(String text) {
    if (text.startsWith(EVENT)) {
      event = text.substring(EVENT.length());
    } else if (text.startsWith(DATA)) {
      var data = ByteBuffer.wrap(text.substring(DATA.length()).getBytes(StandardCharsets.UTF_8));
      switch (event) {
        case "token" -> {
          long token = Json.token(data);
          tokens.add(token);
          receiver.accept(token);
        }
        case "end" -> end = data;
        case "error" -> throw new AthanorException(Json.problem(data), null).withoutRetry();
        default -> {} // of a later version
      }
    }
  }

  @Override
  public void onError(Throwable throwable) {
    body.completeExceptionally(throwable);
  }

  @Override
  public void onComplete() {
    if (end == null) {
      onError(new Failures.MalformedAnswer("the events have no end"));
    } else {
      body.complete(end);
    }
  }
}
