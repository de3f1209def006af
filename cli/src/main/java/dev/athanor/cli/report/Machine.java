package dev.athanor.cli.report;

import dev.athanor.engine.Devices;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import java.util.List;

/**
 * The device that produced a result.
 *
 * @param reason why this device was selected
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

  /** Returns the value of {@code --device} that selects this device. */
  String option() {
    if (!id.startsWith("emulator")) {
      return id;
    }
    boolean usual = target.equals(EmulatorOptions.DEFAULT.target().toString());
    return usual ? "emulator" : "emulator --target " + target;
  }

  /** Returns two lines: {@code emulator:0, Athanor PTX emulator, sm_90, Java 25} and the reason. */
  public List<String> lines() {
    return List.of("%s, %s, %s, %s".formatted(id, name, target, driver), "  (" + reason + ")");
  }

  /** Returns the same in one line. */
  @Override
  public String toString() {
    return "%s, %s, %s, %s (%s)".formatted(id, name, target, driver, reason);
  }
}
