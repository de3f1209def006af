package dev.athanor.service.openinference;

import java.util.Optional;

/** The parts of Triton's protocol that this service does not support, with their error messages. */
public final class Unsupported {

  /** The alternative to shared memory. */
  static final String INSTEAD =
      "Send the data, or upload it to /tensors and pass its handle as the parameter tensor_handle.";

  private static final String SHARED_MEMORY = "Shared memory is not supported. " + INSTEAD;

  private static final String REPOSITORY =
      "Load and unload are not supported. Ops and stored models are always loaded; GET /v2/models"
          + " lists them. PUT /models/{name} stores a model.";

  private Unsupported() {}

  /** Returns the error message for an unsupported REST path; empty for all other paths. */
  public static Optional<String> path(String path) {
    if (path.startsWith("/v2/systemsharedmemory/") || path.startsWith("/v2/cudasharedmemory/")) {
      return Optional.of(SHARED_MEMORY);
    }
    if (path.matches("/v2/repository/models/[^/]+/(un)?load")) {
      return Optional.of(REPOSITORY);
    }
    return Optional.empty();
  }

  /**
   * Returns the error message for an unsupported method of the inference service; empty for all
   * others.
   */
  public static Optional<String> method(String name) {
    return switch (name) {
      case "SystemSharedMemoryStatus",
          "SystemSharedMemoryRegister",
          "SystemSharedMemoryUnregister",
          "CudaSharedMemoryStatus",
          "CudaSharedMemoryRegister",
          "CudaSharedMemoryUnregister" ->
          Optional.of(SHARED_MEMORY);
      case "RepositoryModelLoad", "RepositoryModelUnload" -> Optional.of(REPOSITORY);
      default -> Optional.empty();
    };
  }
}
