package dev.athanor.service.tensor;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Idempotency keys of requests that create or update tensors.
 *
 * @param <T> the results of the requests
 */
public final class IdempotencyKeys<T> {

  /**
   * A completed request.
   *
   * @param fingerprint the fingerprint of the request
   */
  public record Creation<T>(T result, String fingerprint) {}

  /** Requests between sweeps, since updates of one tensor may be frequent. */
  private static final int SWEEP_EVERY = 256;

  private record Key(Tenant tenant, String text) {}

  private final ConcurrentHashMap<Key, CompletableFuture<Creation<T>>> creations =
      new ConcurrentHashMap<>();
  private final Predicate<T> lives;
  private final AtomicLong added = new AtomicLong();

  /**
   * @param lives whether a result is valid; its key is forgotten when it is not
   */
  public IdempotencyKeys(Predicate<T> lives) {
    this.lives = lives;
  }

  /**
   * Creates tensors, or returns the result of the request that created them before with the same
   * key. Waits for a concurrent creation.
   *
   * @param field the path of the key in the request
   * @param text the key; keys of different tenants are independent
   * @param deadline the deadline for waiting
   * @param fingerprint computes the fingerprint of this request; called instead of {@code create}
   * @throws Failure.Refused with {@code idempotency-key-reused} if the key belongs to a different
   *     request, or {@code invalid-attribute} unless it has 1 to 255 characters
   * @throws Failure.DeadlineExceeded if the deadline passes while another request creates the
   *     tensor
   */
  public T once(
      Tenant tenant,
      String field,
      String text,
      Deadline deadline,
      Supplier<Creation<T>> create,
      Supplier<String> fingerprint) {
    if (text.isBlank() || text.length() > 255) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          field,
          "%s has %d characters; it must have 1 to 255".formatted(field, text.length()));
    }
    var key = new Key(tenant, text);
    while (true) {
      var mine = new CompletableFuture<Creation<T>>();
      var first = creations.putIfAbsent(key, mine);
      if (first == null) {
        return create(key, mine, create);
      }
      var done = await(first, deadline);
      if (done == null || !exists(done)) {
        creations.remove(key, first);
        continue;
      }
      if (!done.fingerprint.equals(fingerprint.get())) {
        throw new Failure.Refused(
            Code.IDEMPOTENCY_KEY_REUSED,
            field,
            "this %s was used for a different request; use a new key for each request"
                .formatted(field));
      }
      return done.result;
    }
  }

  private boolean exists(Creation<T> creation) {
    return lives.test(creation.result);
  }

  private T create(Key key, CompletableFuture<Creation<T>> mine, Supplier<Creation<T>> create) {
    try {
      var creation = create.get();
      mine.complete(creation);
      if (added.incrementAndGet() % SWEEP_EVERY == 0) {
        sweep();
      }
      return creation.result;
    } finally {
      if (!mine.isDone()) {
        creations.remove(key, mine);
        mine.cancel(false);
      }
    }
  }

  /** Waits for a creation; null if it failed, so that the caller retries. */
  private @Nullable Creation<T> await(CompletableFuture<Creation<T>> first, Deadline deadline) {
    try {
      return first.get(Math.max(deadline.remainingNanos(), 0), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new Failure.DeadlineExceeded(deadline);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Failure.clientGone();
    } catch (ExecutionException | CancellationException e) {
      return null;
    }
  }

  /** Removes the keys whose results are no longer valid. */
  public void sweep() {
    creations
        .entrySet()
        .removeIf(entry ->
            entry.getValue().state() == Future.State.SUCCESS
                && !exists(entry.getValue().resultNow()));
  }
}
