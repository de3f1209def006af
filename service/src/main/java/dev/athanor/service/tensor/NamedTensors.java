package dev.athanor.service.tensor;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The names under which a tenant has stored tensors on this replica. The contents of a stored
 * tensor never change: storing another one under its name replaces it, and the old one is freed
 * when the work that reads it has finished.
 */
public final class NamedTensors {

  /** Versions are exact in JSON numbers up to here. */
  public static final long GREATEST_VERSION = 1L << 52;

  /** The places of 256 replicas. */
  private static final int PLACE_BITS = 8;

  /**
   * What all copies of a stored tensor have in common.
   *
   * @param version orders the tensors that are stored under one name: the greatest wins
   * @param replicas the ids of the replicas with a copy
   * @param lease zero to keep the tensor until it is deleted
   */
  public record Copy(long version, List<String> replicas, Duration lease) {
    public Copy {
      replicas = List.copyOf(replicas);
    }
  }

  private final TensorStore store;
  private final TenantTensors tensors;
  private final Map<String, TensorEntry> entries =
      new HashMap<>(); // guarded by the store's monitor

  NamedTensors(TensorStore store, TenantTensors tensors) {
    this.store = store;
    this.tensors = tensors;
  }

  /** Returns the version of the tensor that has a name; empty if there is none. */
  public OptionalLong version(String name) {
    return store.guarded(() -> {
      var entry = get(name);
      return entry == null ? OptionalLong.empty() : OptionalLong.of(entry.version);
    });
  }

  /**
   * Returns a greater version than the tensors that had the name before: milliseconds, and the
   * place of the replica, so that no two replicas give the same.
   *
   * @param place of this replica among all, from 0 to 255
   */
  public long nextVersion(String name, int place) {
    long now = store.clock.millis();
    return store.guarded(() -> {
      var entry = get(name);
      long millis = entry == null ? now : Math.max(now, (entry.version >> PLACE_BITS) + 1);
      return (millis << PLACE_BITS) + place;
    });
  }

  /**
   * Stores a tensor under a name, in place of the one that has it. Storing the same copy again does
   * nothing.
   *
   * @param handle of a tensor of this replica
   * @param precondition is given the version of the tensor that has the name, and may throw
   * @throws Failure.Refused with {@code version-mismatch} if that one is newer, with {@code
   *     handle-in-use} if the tensor has a name already, or with {@code unknown-handle}
   */
  public TensorInfo put(
      String name, String handle, Copy copy, Consumer<OptionalLong> precondition) {
    store.release(
        store.guarded(() -> {
          var entry = tensors.find(handle, "handle");
          var current = get(name);
          if (entry == current && entry.version == copy.version()) {
            return List.of();
          }
          if (entry.copy != null) {
            throw new Failure.Refused(
                Code.HANDLE_IN_USE,
                "handle",
                "%s is stored under the name %s; a tensor has one name"
                    .formatted(handle, entry.name));
          }
          precondition.accept(
              current == null ? OptionalLong.empty() : OptionalLong.of(current.version));
          if (current != null && current.version >= copy.version()) {
            throw newer(name, current.version);
          }
          entry.name = name;
          entry.copy = copy;
          entry.version = copy.version();
          tensors.lease(entry, copy.lease());
          entries.put(name, entry);
          return current == null ? List.of() : store.remove(List.of(current));
        }));
    return tensors.describe(handle);
  }

  private static Failure newer(String name, long version) {
    return new Failure.Refused(
        Code.VERSION_MISMATCH,
        "name",
        "a newer tensor was stored under the name %s meanwhile, version %d; send the request again to replace it"
            .formatted(name, version));
  }

  /**
   * Deletes the tensor that has a name; work that reads it finishes first.
   *
   * @param before only if its version is smaller
   * @return whether there was one to delete
   */
  public boolean remove(String name, long before) {
    var removed =
        store.guarded(() -> {
          var entry = get(name);
          return entry == null || entry.version >= before
              ? Optional.<List<TensorEntry>>empty()
              : Optional.of(store.remove(List.of(entry)));
        });
    removed.ifPresent(store::release);
    return removed.isPresent();
  }

  // -- guarded by the store's monitor

  /** Where a lease has ended, another replica may still have a copy. */
  @Nullable TensorEntry get(String name) {
    var entry = entries.get(name);
    return entry == null || entry.hasExpired(store.clock.instant()) ? null : entry;
  }

  void forget(TensorEntry entry) {
    if (entry.name != null) {
      entries.remove(entry.name, entry);
    }
  }
}
