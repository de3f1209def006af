package dev.athanor.client;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.GetResponse;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;

/** The results of calls as futures: of unary calls, and of uploads and downloads in chunks. */
final class GrpcFutures {

  private static final int CHUNK = 1 << 19;

  private GrpcFutures() {}

  /** Returns what a function makes of the response of a unary call. */
  static <A, R> CompletableFuture<R> unary(ListenableFuture<A> sent, Function<A, R> answer) {
    var result = new CompletableFuture<A>();
    sent.addListener(
        () -> {
          try {
            result.complete(sent.get());
          } catch (ExecutionException e) {
            result.completeExceptionally(e.getCause() == null ? e : e.getCause());
          } catch (Exception e) {
            result.completeExceptionally(e);
          }
        },
        Runnable::run);
    Futures.onCancel(result, () -> sent.cancel(true));
    return Futures.map(result, answer);
  }

  /** A streaming call that its future can cancel. */
  abstract static class Streaming<Q, A, R> implements ClientResponseObserver<Q, A> {
    final CompletableFuture<R> result = new CompletableFuture<>();

    @Override
    public void beforeStart(ClientCallStreamObserver<Q> call) {
      Futures.onCancel(result, () -> call.cancel("cancelled by the client", null));
    }

    @Override
    public void onError(Throwable failure) {
      result.completeExceptionally(failure);
    }
  }

  /** Sends a header and chunks with flow control. */
  static final class Upload<Q, A, R> extends Streaming<Q, A, R> {
    private final Q header;
    private final ByteBuffer rest;
    private final Function<ByteString, Q> message;
    private final Function<A, R> read;
    private boolean begun;
    private boolean ended;

    Upload(Q header, ByteBuffer bytes, Function<ByteString, Q> message, Function<A, R> read) {
      this.header = header;
      rest = bytes;
      this.message = message;
      this.read = read;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<Q> call) {
      super.beforeStart(call);
      call.setOnReadyHandler(() -> send(call));
    }

    private void send(ClientCallStreamObserver<Q> call) {
      while (!ended && call.isReady()) {
        if (!begun) {
          begun = true;
          call.onNext(header);
        } else if (rest.hasRemaining()) {
          var chunk = rest.slice();
          chunk.limit(Math.min(chunk.limit(), CHUNK));
          rest.position(rest.position() + chunk.limit());
          call.onNext(message.apply(UnsafeByteOperations.unsafeWrap(chunk)));
        } else {
          ended = true;
          call.onCompleted();
        }
      }
    }

    @Override
    public void onNext(A answer) {
      result.complete(read.apply(answer));
    }

    @Override
    public void onCompleted() {
      result.completeExceptionally(new Failures.MalformedAnswer("the response is missing"));
    }
  }

  /** Copies chunks into a buffer. */
  static final class Download extends Streaming<GetRequest, GetResponse, ByteBuffer> {
    private final ByteBuffer target;
    private final ByteBuffer rest;

    Download(ByteBuffer target) {
      this.target = target;
      rest = target.slice();
    }

    @Override
    public void onNext(GetResponse answer) {
      answer.getChunk().copyTo(rest);
    }

    @Override
    public void onCompleted() {
      if (rest.hasRemaining()) {
        result.completeExceptionally(
            new Failures.MalformedAnswer("%d bytes are missing".formatted(rest.remaining())));
      } else {
        result.complete(target);
      }
    }
  }
}
