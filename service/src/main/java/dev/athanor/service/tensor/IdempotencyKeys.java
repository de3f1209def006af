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

/** Makes the creation of a tensor safe to repeat under one key, for as long as the tensor lives. */
public final class IdempotencyKeys {

  /**
   * A creation that has happened.
   *
   * @param fingerprint of the request
   */
  public record Creation(String handle, String fingerprint) {}

  private record Key(Tenant tenant, String text) {}

  private final ConcurrentHashMap<Key, CompletableFuture<Creation>> creations =
      new ConcurrentHashMap<>();
  private final Predicate<String> lives;

  /**
   * @param lives whether a handle's tensor still lives
   */
  public IdempotencyKeys(Predicate<String> lives) {
    this.lives = lives;
  }

  /**
   * Creates a tensor, or finds the one that was created under the key before; waits while that is
   * being done.
   *
   * @param text the key, which is the tenant's own
   * @param deadline of this request, which bounds the wait for another
   * @param fingerprint of this request; asked for instead of {@code create}
   * @return the handle
   * @throws Failure.Refused with {@code idempotency-key-reused} when the key was another request's,
   *     or {@code invalid-attribute} when it has not 1 to 255 characters
   * @throws Failure.TooLate when the deadline passes while another request creates the tensor
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
            "this Idempotency-Key came with another request before; use a new key for a new tensor");
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

  /** The creation, or null when it failed: then it is for the next one to try. */
  private static @Nullable Creation await(CompletableFuture<Creation> first, Deadline deadline) {
    try {
      return first.get(Math.max(deadline.remainingNanos(), 0), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new Failure.TooLate(deadline);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Failure.clientGone();
    } catch (ExecutionException | CancellationException e) {
      return null;
    }
  }

  /** Forgets the keys of tensors that are gone. */
  public void sweep() {
    creations
        .entrySet()
        .removeIf(entry ->
            entry.getValue().state() == Future.State.SUCCESS
                && !lives.test(entry.getValue().resultNow().handle));
  }
}
