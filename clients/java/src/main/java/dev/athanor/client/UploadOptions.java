package dev.athanor.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Options of an upload. */
public final class UploadOptions {

  @Nullable String name;
  @Nullable String scope;
  @Nullable String device;
  @Nullable Duration lease;
  @Nullable Duration deadline;

  UploadOptions() {}

  /** Sets a descriptive name, which need not be unique. */
  public UploadOptions name(String value) {
    name = value;
    return this;
  }

  /** Sets the scope; {@link Athanor#deleteScope} deletes all tensors of a scope. */
  public UploadOptions scope(String value) {
    scope = value;
    return this;
  }

  /** Sets the device, such as {@code cuda:1}; the default is the service's choice. */
  public UploadOptions device(String value) {
    device = value;
    return this;
  }

  /** Sets the lease in whole seconds; the default is the client's. */
  public UploadOptions lease(Duration value) {
    lease = value;
    return this;
  }

  /** Bounds the time of the upload, retries included. */
  public UploadOptions deadline(Duration limit) {
    deadline = limit;
    return this;
  }
}
