package dev.athanor.service.model;

import java.io.InputStream;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A new version of a model, which no request sees before it is stored.
 *
 * @param files its files, until it is stored
 * @param expires when it is discarded; null if its request stores or discards it
 */
public record PreparedModel(
    ModelId id, StoredModel model, Incoming files, @Nullable Instant expires) {

  public String name() {
    return id.name();
  }

  public long version() {
    return model.version();
  }

  /** Returns the files as a zip file. */
  public InputStream zip() {
    return new ModelArchive(files.files());
  }
}
