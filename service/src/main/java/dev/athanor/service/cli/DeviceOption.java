package dev.athanor.service.cli;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.DeviceException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option {@code --device}. */
final class DeviceOption {

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
  Devices.Opened open() {
    try {
      return Devices.open(wanted);
    } catch (IllegalArgumentException | DeviceException.Unavailable e) {
      throw new ParameterException(
          command.commandLine(), "--device %s: %s".formatted(wanted, e.getMessage()), e);
    }
  }
}
