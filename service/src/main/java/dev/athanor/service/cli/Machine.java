package dev.athanor.service.cli;

import dev.athanor.engine.Devices;

/**
 * The device of a result.
 *
 * @param reason why it is this one
 */
record Machine(
    String id,
    String name,
    String target,
    String driver,
    int multiprocessors,
    long memoryBytes,
    String reason) {

  static Machine of(Devices.Opened opened) {
    var capability = opened.device().capability();
    return new Machine(
        capability.id(),
        capability.name(),
        capability.target().toString(),
        capability.driver(),
        capability.multiprocessors(),
        capability.memoryBytes(),
        opened.reason());
  }

  /** What {@code --device} takes to mean it. */
  String option() {
    return id.startsWith("emulator") ? "emulator" : id;
  }

  /** One line: {@code emulator:0, Athanor PTX emulator, sm_90, Java 25 (…why…)}. */
  @Override
  public String toString() {
    return "%s, %s, %s, %s (%s)".formatted(id, name, target, driver, reason);
  }
}
