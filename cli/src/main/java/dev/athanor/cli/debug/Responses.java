package dev.athanor.cli.debug;

import static java.util.concurrent.CompletableFuture.completedFuture;
import static java.util.concurrent.CompletableFuture.failedFuture;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.eclipse.lsp4j.jsonrpc.ResponseErrorException;
import org.eclipse.lsp4j.jsonrpc.messages.ResponseError;
import org.eclipse.lsp4j.jsonrpc.messages.ResponseErrorCode;

/** Responses to requests. Failures are reported as error responses. */
final class Responses {

  private Responses() {}

  /** Responses a request. */
  static <T> CompletableFuture<T> answer(Supplier<T> work) {
    try {
      return completedFuture(work.get());
    } catch (IllegalArgumentException | IllegalStateException e) {
      return failedFuture(
          new ResponseErrorException(
              new ResponseError(ResponseErrorCode.RequestFailed, e.getMessage(), null)));
    }
  }

  /** Performs a request whose response is empty. */
  static CompletableFuture<Void> perform(Runnable work) {
    return answer(
            () -> {
              work.run();
              return true;
            })
        .thenAccept(_ -> {});
  }
}
