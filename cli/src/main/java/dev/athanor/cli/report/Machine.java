package dev.athanor.cli.report;

import dev.athanor.engine.Devices;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import java.util.List;

/**
 * The device of a result.
 *
 * @param reason why it is this one
 */
public record Machine(
    String id,
    String name,
    String target,
    String driver,
    int multiprocessors,
    long memoryBytes,
    String reason) {

  public static Machine of(Devices.Opened opened) {
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

  /** What to write after {@code --device} to have it again. */
  String option() {
    if (!id.startsWith("emulator")) {
      return id;
    }
    boolean usual = target.equals(EmulatorOptions.DEFAULT.target().toString());
    return usual ? "emulator" : "emulator --target " + target;
  }

  /**
   * Two lines: {@code emulator:0, Athanor PTX emulator, sm_90, Java 25}, and why it is this one.
   */
  public List<String> lines() {
    return List.of("%s, %s, %s, %s".formatted(id, name, target, driver), "  (" + reason + ")");
  }

  /** The same in one line. */
  @Override
  public String toString() {
    return "%s, %s, %s, %s (%s)".formatted(id, name, target, driver, reason);
  }
}
