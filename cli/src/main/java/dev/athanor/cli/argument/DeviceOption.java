package dev.athanor.cli.argument;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.ptx.Target;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option {@code --device}. */
public final class DeviceOption {

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      defaultValue = "auto",
      description =
          "auto (the first GPU, else the emulator), emulator, emulator:N, cuda or cuda:N; default: ${DEFAULT-VALUE}")
  @SuppressWarnings("NullAway.Init")
  private String wanted;

  /**
   * Opens the device.
   *
   * @throws ParameterException when there is no such device, saying why
   */
  public Devices.Opened open() {
    try {
      return Devices.open(wanted);
    } catch (IllegalArgumentException | DeviceException.Unavailable e) {
      throw refused("--device " + wanted, e);
    }
  }

  /**
   * Opens the device, which must be an emulator, as one of a target.
   *
   * @param target {@code sm_89}
   * @throws ParameterException when the device is no emulator, or there is no such target
   */
  public Devices.Opened open(String target) {
    try {
      return Devices.openEmulator(wanted, Target.of(target));
    } catch (IllegalArgumentException e) {
      throw refused("--target " + target, e);
    }
  }

  private ParameterException refused(String option, RuntimeException e) {
    return new ParameterException(
        command.commandLine(), "%s: %s".formatted(option, e.getMessage()), e);
  }
}
