package dev.athanor.cli.argument;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Target;
import org.jspecify.annotations.Nullable;
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
          "auto (the first GPU, else the emulator), emulator, emulator:N, cuda, cuda:N, vulkan or vulkan:N; default: ${DEFAULT-VALUE}")
  @SuppressWarnings("NullAway.Init")
  private String wanted;

  /**
   * Opens the device.
   *
   * @throws ParameterException if the device is unknown or unavailable
   */
  public Devices.Opened open() {
    try {
      return Devices.open(wanted);
    } catch (IllegalArgumentException | DeviceException.Unavailable e) {
      throw usageError("--device " + wanted, e);
    }
  }

  /**
   * Opens the device, which must be an emulator if a target or the sanitizer is requested.
   *
   * @param target the target, such as {@code sm_89}; null for the device's own
   * @throws ParameterException if the device is not an emulator or the target is unknown
   */
  public Devices.Opened open(@Nullable String target, boolean sanitize) {
    if (target == null && !sanitize) {
      return open();
    }
    try {
      var options = EmulatorOptions.DEFAULT;
      options = target == null ? options : options.withTarget(Target.of(target));
      options = sanitize ? options.withSanitize(Sanitize.FULL) : options;
      return Devices.openEmulator(wanted, options);
    } catch (IllegalArgumentException e) {
      throw usageError(target == null ? "--sanitize" : "--target " + target, e);
    }
  }

  private ParameterException usageError(String option, RuntimeException e) {
    return new ParameterException(
        command.commandLine(), "%s: %s".formatted(option, e.getMessage()), e);
  }
}
