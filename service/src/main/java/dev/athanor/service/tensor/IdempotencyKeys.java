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
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Idempotency keys for the creation of tensors, valid as long as the tensor exists. */
public final class IdempotencyKeys {

  /**
   * A completed creation.
   *
   * @param fingerprint the fingerprint of the request
   */
  public record Creation(String handle, String fingerprint) {}

  private record Key(Tenant tenant, String text) {}

  private final ConcurrentHashMap<Key, CompletableFuture<Creation>> creations =
      new ConcurrentHashMap<>();
  private final Predicate<String> lives;

  /**
   * @param lives whether the tensor of a handle still exists
   */
  public IdempotencyKeys(Predicate<String> lives) {
    this.lives = lives;
  }

  /**
   * Creates a tensor, or returns the one created before with the same key. Waits for a concurrent
   * creation.
   *
   * @param text the key; keys of different tenants are independent
   * @param deadline the deadline for waiting
   * @param fingerprint computes the fingerprint of this request; called instead of {@code create}
   * @return the handle
   * @throws Failure.Refused with {@code idempotency-key-reused} if the key belongs to a different
   *     request, or {@code invalid-attribute} unless it has 1 to 255 characters
   * @throws Failure.DeadlineExceeded if the deadline passes while another request creates the tensor
   */
  public String once(
      Tenant tenant,
      String text,
      Deadline deadline,
      Supplier<Creation> create,
      Supplier<String> fingerprint) {
    if (text.isBlank() || text.length() > 255) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "Idempotency-Key",
          "Idempotency-Key has %d characters; it must have 1 to 255".formatted(text.length()));
    }
    var key = new Key(tenant, text);
    while (true) {
      var mine = new CompletableFuture<Creation>();
      var first = creations.putIfAbsent(key, mine);
      if (first == null) {
        return create(key, mine, create);
      }
      var done = await(first, deadline);
      if (done == null || !lives.test(done.handle)) {
        creations.remove(key, first);
        continue;
      }
      if (!done.fingerprint.equals(fingerprint.get())) {
        throw new Failure.Refused(
            Code.IDEMPOTENCY_KEY_REUSED,
            "Idempotency-Key",
            "this Idempotency-Key was used for a different request; use a new key for a new tensor");
      }
      return done.handle;
    }
  }

  private String create(Key key, CompletableFuture<Creation> mine, Supplier<Creation> create) {
    try {
      var creation = create.get();
      mine.complete(creation);
      return creation.handle;
    } finally {
      if (!mine.isDone()) {
        creations.remove(key, mine);
        mine.cancel(false);
      }
    }
  }

  /** Waits for a creation; null if it failed, so that the caller retries. */
  private static @Nullable Creation await(CompletableFuture<Creation> first, Deadline deadline) {
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
                && !lives.test(entry.getValue().resultNow().handle));
  }
}
