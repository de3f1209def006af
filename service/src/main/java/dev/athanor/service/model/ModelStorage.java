package dev.athanor.service.model;

import dev.athanor.service.codec.HostAllocator;
import java.io.IOException;
import java.time.Instant;
import java.util.List;

/** Where the files of models are. By default, it keeps no more than what models themselves hold. */
interface ModelStorage {

  /** Keeps models in memory. */
  ModelStorage IN_MEMORY = Incoming.InMemory::new;

  /** The file beside those of a model that says when and how it was stored. */
  String METADATA = "model.json";

  /**
   * What is kept with the files of a version.
   *
   * @param batch the extent along which calls share runs; empty if they do not
   * @param replicas the ids of the replicas that got it; may be empty if it was only this one
   */
  record Metadata(Instant created, ExtentRanges extents, String batch, List<String> replicas) {

    public Metadata {
      replicas = List.copyOf(replicas);
    }
  }

  /** A version that was stored before. */
  interface Found {
    ModelId id();

    long version();

    /** Returns when and how it was stored. */
    Metadata metadata() throws IOException;

    /** Returns its files. */
    ModelFiles files() throws IOException;
  }

  /**
   * Returns where the files of a request go.
   *
   * @param memory the memory of the request
   */
  Incoming receive(HostAllocator memory) throws IOException;

  /** Returns the greatest version of a model that is kept; 0 if none is. */
  default long newest(ModelId id) throws IOException {
    return 0;
  }

  /** Keeps the files of a new version, which becomes the default. */
  default void store(ModelId id, long version, Incoming files, Metadata metadata)
      throws IOException {}

  /** Changes the default of a model. */
  default void setDefault(ModelId id, long version) throws IOException {}

  /** Deletes a version. */
  default void delete(ModelId id, long version) throws IOException {}

  /** Deletes all versions. */
  default void delete(ModelId id) throws IOException {}

  /** Returns what is kept: the versions of each model in order, but the default last. */
  default List<Found> find() throws IOException {
    return List.of();
  }
}
