package dev.athanor.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** The attempts of one call, until one succeeds, no retry is allowed, or the deadline passes. */
final class Attempts<T> {

  private static final long FIRST_DELAY = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long MAX_DELAY = TimeUnit.SECONDS.toNanos(30);

  /** Extra time for the service's own deadline response, which has more detail. */
  private static final long GRACE = TimeUnit.MILLISECONDS.toNanos(500);

  private final Session session;
  private final String name;
  private final boolean repeatable;
  private final CallContext context;
  private final BiFunction<Transport, CallContext, CompletableFuture<T>> attempt;
  private final CompletableFuture<T> result = new CompletableFuture<>();
  private final AtomicBoolean reported = new AtomicBoolean();
  private final long started = System.nanoTime();
  private int retries;
  private boolean redirected;

  Attempts(
      Session session,
      String name,
      boolean repeatable,
      CallContext context,
      BiFunction<Transport, CallContext, CompletableFuture<T>> attempt) {
    this.session = session;
    this.name = name;
    this.repeatable = repeatable;
    this.context = context;
    this.attempt = attempt;
  }

  CompletableFuture<T> start(Transport transport) {
    send(transport);
    if (!result.isDone()) {
      var timer =
          schedule(() -> fail(Failures.deadlineExceeded(null)), context.remainingNanos() + GRACE);
      Futures.on(
          result,
          (value, failure) -> {
            if (timer != null) {
              timer.cancel(false);
            }
          });
    }
    Futures.on(result, (value, failure) -> report(failure));
    return result;
  }

  /** Reports to the listener once, before callers see a result of this class. */
  private void report(@Nullable Throwable failure) {
    if (reported.compareAndSet(false, true)) {
      session.report(name, started, failure);
    }
  }

  private void send(Transport transport) {
    if (result.isDone()) {
      return;
    }
    CompletableFuture<T> sent;
    try {
      sent = attempt.apply(transport, context);
    } catch (RuntimeException e) {
      result.completeExceptionally(e);
      return;
    }
    Futures.on(result, (value, failure) -> sent.cancel(true)); // no effect if it is complete
    Futures.on(
        sent,
        (value, failure) -> {
          if (failure == null) {
            report(null);
            result.complete(value);
          } else if (!result.isDone()) {
            failed(Failures.of(failure, transport.url()), transport);
          }
        });
  }

  private void failed(RuntimeException failure, Transport transport) {
    if (failure instanceof AthanorException refusal) {
      var owner = refusal.replica().map(session::replica).orElse(null);
      if (owner != null && !redirected) {
        redirected = true;
        send(owner);
        return;
      }
      long delay = delay(refusal);
      if (delay >= 0 && retries < session.settings.maxRetries && delay < context.remainingNanos()) {
        retries++;
        if (schedule(() -> send(transport), delay) != null) {
          return;
        }
      }
    }
    report(failure);
    result.completeExceptionally(failure);
  }

  /** Returns the nanoseconds until the next attempt; negative for no retry. */
  private long delay(AthanorException refusal) {
    boolean refused =
        (refusal.status() == 429 || refusal.status() == 503)
            && !refusal.code().equals("device-lost");
    boolean lost =
        refusal.code().equals(AthanorException.UNREACHABLE)
            || (repeatable && refusal.code().equals(AthanorException.CONNECTION_LOST));
    if (refusal.isFinal() || (!refused && !lost)) {
      return -1;
    }
    long backoff = FIRST_DELAY << Math.min(retries, 8);
    long jitter = ThreadLocalRandom.current().nextLong(backoff / 2, backoff);
    long delay = refusal.retryAfter().map(Duration::toNanos).orElse(0L) + jitter;
    return delay > MAX_DELAY ? -1 : delay;
  }

  void fail(AthanorException failure) {
    result.completeExceptionally(failure);
  }

  private @Nullable Future<?> schedule(Runnable task, long nanos) {
    try {
      return session.scheduler.schedule(task, nanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      return null; // the client is closed
    }
  }
}
