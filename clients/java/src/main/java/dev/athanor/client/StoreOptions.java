package dev.athanor.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Options of storing a tensor under a name. */
public final class StoreOptions {

  /** The value of {@link #replicas} for all replicas. */
  static final int ALL = 0;

  int replicas = 1;
  @Nullable String scope;
  @Nullable String device;
  @Nullable Duration lease;
  @Nullable Duration deadline;

  StoreOptions() {}

  /** Sets the number of replicas with a copy; the default is one. */
  public StoreOptions replicas(int count) {
    if (count < 1) {
      throw new IllegalArgumentException(
          "A tensor cannot be stored on %d replicas; store it on at least 1.".formatted(count));
    }
    replicas = count;
    return this;
  }

  /** Stores a copy on every replica. */
  public StoreOptions allReplicas() {
    replicas = ALL;
    return this;
  }

  /** Sets the scope of each copy. */
  public StoreOptions scope(String value) {
    scope = value;
    return this;
  }

  /** Sets the device of each copy, such as {@code cuda:1}; the default is the service's choice. */
  public StoreOptions device(String value) {
    device = value;
    return this;
  }

  /** Sets the lease of each copy in whole seconds; by default, copies stay until deleted. */
  public StoreOptions lease(Duration value) {
    lease = value;
    return this;
  }

  /** Bounds the time of the upload, retries included. */
  public StoreOptions deadline(Duration limit) {
    deadline = limit;
    return this;
  }
}
