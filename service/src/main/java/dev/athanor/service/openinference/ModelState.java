package dev.athanor.service.openinference;

/**
 * A model in Triton's repository index.
 *
 * @param state {@code READY} or {@code UNAVAILABLE}
 * @param reason why it is unavailable; empty if it is ready
 */
public record ModelState(String name, String version, String state, String reason) {

  static ModelState of(ServedModel model, boolean ready) {
    return new ModelState(
        model.name(),
        model.version(),
        ready ? "READY" : "UNAVAILABLE",
        ready ? "" : "the service is not ready");
  }
}
