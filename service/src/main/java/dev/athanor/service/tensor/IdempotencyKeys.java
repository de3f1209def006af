package dev.athanor.service.tensor;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Idempotency keys for the creation of tensors, valid as long as the tensors exist.
 *
 * @param <T> the results of the requests
 */
public final class IdempotencyKeys<T> {

  /**
   * A completed creation.
   *
   * @param handles the tensors that the request created
   * @param fingerprint the fingerprint of the request
   */
  public record Creation<T>(T result, List<String> handles, String fingerprint) {
    public Creation {
      handles = List.copyOf(handles);
    }
  }

  private record Key(Tenant tenant, String text) {}

  private final ConcurrentHashMap<Key, CompletableFuture<Creation<T>>> creations =
      new ConcurrentHashMap<>();
  private final Predicate<String> lives;

  /**
   * @param lives whether the tensor of a handle still exists
   */
  public IdempotencyKeys(Predicate<String> lives) {
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
    return creation.handles.stream().allMatch(lives);
  }

  private T create(Key key, CompletableFuture<Creation<T>> mine, Supplier<Creation<T>> create) {
    try {
      var creation = create.get();
      mine.complete(creation);
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

  /** Removes the keys of deleted tensors. */
  public void sweep() {
    creations
        .entrySet()
        .removeIf(entry ->
            entry.getValue().state() == Future.State.SUCCESS
                && !exists(entry.getValue().resultNow()));
  }
}
