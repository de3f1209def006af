package dev.athanor.client;

import java.lang.ref.Reference;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Futures whose cancellation cancels the underlying call. */
final class Futures {

  private Futures() {}

  /** Returns the mapped value of a future; cancelling the result cancels the future. */
  static <S, R> CompletableFuture<R> map(CompletableFuture<S> source, Function<S, R> function) {
    var result = new CompletableFuture<R>();
    onCancel(result, () -> source.cancel(true));
    on(
        source,
        (value, failure) -> {
          if (failure != null) {
            result.completeExceptionally(failure);
            return;
          }
          try {
            result.complete(function.apply(value));
          } catch (RuntimeException e) {
            result.completeExceptionally(Failures.of(e));
          }
        });
    return result;
  }

  /** Calls back with the value or the unwrapped failure. */
  @SuppressWarnings("FutureReturnValueIgnored") // the callback receives failures
  static <S> void on(CompletableFuture<S> source, BiConsumer<S, @Nullable Throwable> callback) {
    source.whenComplete((value, failure) -> callback.accept(value, unwrap(failure)));
  }

  /** Keeps an object reachable until a call ends, so that its tensors are not freed as leaks. */
  @SuppressWarnings("ReachabilityFenceUsage") // the fence is in a callback
  static <T> CompletableFuture<T> keeping(Object object, CompletableFuture<T> call) {
    on(call, (value, failure) -> Reference.reachabilityFence(object));
    return call;
  }

  @SuppressWarnings("FutureReturnValueIgnored")
  static void onCancel(CompletableFuture<?> future, Runnable action) {
    future.whenComplete((value, failure) -> {
      if (future.isCancelled()) {
        action.run();
      }
    });
  }

  private static @Nullable Throwable unwrap(@Nullable Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  static <R> R await(CompletableFuture<R> call) {
    try {
      return call.get();
    } catch (InterruptedException e) {
      call.cancel(true);
      Thread.currentThread().interrupt();
      throw Failures.interrupted(e);
    } catch (CancellationException e) {
      throw new AthanorException("cancelled", "The call was cancelled.", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      var failure = Failures.of(e.getCause() == null ? e : e.getCause());
      throw failure instanceof AthanorException refusal ? refusal.here() : failure;
    }
  }
}
