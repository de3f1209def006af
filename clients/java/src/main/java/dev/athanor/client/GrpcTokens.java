package dev.athanor.client;

import dev.athanor.api.v1.GenerateRequest;
import dev.athanor.api.v1.GenerateResponse;
import io.grpc.stub.ClientCallStreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Receives the tokens of a generation. */
final class GrpcTokens
    extends GrpcFutures.Streaming<GenerateRequest, GenerateResponse, Generation> {

  private final LongConsumer receiver;
  private final String url;
  private final List<Long> tokens = new ArrayList<>();
  private @Nullable ClientCallStreamObserver<GenerateRequest> call;

  GrpcTokens(LongConsumer receiver, String url) {
    this.receiver = receiver;
    this.url = url;
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<GenerateRequest> started) {
    super.beforeStart(started);
    call = started;
  }

  @Override
  public void onNext(GenerateResponse message) {
    if (result.isDone()) {
      return; // it was cancelled
    }
    if (message.hasEnd()) {
      var end = message.getEnd();
      result.complete(
          new Generation(tokens, end.getReason(), end.getSeed(), Math.toIntExact(end.getLength())));
    } else if (message.hasToken()) {
      tokens.add(message.getToken());
      try {
        receiver.accept(message.getToken());
      } catch (RuntimeException e) {
        result.completeExceptionally(e);
        if (call != null) {
          call.cancel("the receiver of tokens failed", e);
        }
      }
    }
  }

  /** A retry would repeat the tokens that the receiver got. */
  @Override
  public void onError(Throwable failure) {
    super.onError(tokens.isEmpty() ? failure : GrpcFailures.of(failure, url).withoutRetry());
  }

  @Override
  public void onCompleted() {
    result.completeExceptionally(new Failures.MalformedAnswer("the tokens have no end"));
  }
}
