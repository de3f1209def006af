package dev.athanor.engine;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.cuda.CudaDriver;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.EmulatorOptions;
import java.util.regex.Pattern;

/** Opens the device that a person asks for. */
public final class Devices {

  private static final Pattern CUDA = Pattern.compile("cuda(?::(\\d{1,3}))?");

  private Devices() {}

  /**
   * A device, and in one sentence why it is this one.
   *
   * @param reason for instance {@code the driver 12.6 has 1 GPU}
   */
  public record Opened(Device device, String reason) {}

  /**
   * Opens a device.
   *
   * @param wanted {@code emulator}, {@code cuda}, {@code cuda:N}, or {@code auto}: the first GPU
   *     where a driver and a GPU answer, else the emulator
   * @throws IllegalArgumentException for any other text
   * @throws DeviceException.Unavailable when a GPU is asked for that is not there, saying why
   */
  public static Opened open(String wanted) {
    var cuda = CUDA.matcher(wanted);
    if (cuda.matches()) {
      return cuda(cuda.group(1) == null ? 0 : Integer.parseInt(cuda.group(1)));
    }
    return switch (wanted) {
      case "emulator" -> emulator("the emulator was asked for");
      case "auto" ->
          switch (CudaDriver.probe()) {
            case CudaDriver.Present present -> cuda(0, present);
            case CudaDriver.Absent absent -> emulator(absent.reason());
          };
      default ->
          throw new IllegalArgumentException(
              "there is no device \"%s\"; devices are auto, emulator, cuda and cuda:N"
                  .formatted(wanted));
    };
  }

  private static Opened cuda(int ordinal) {
    return switch (CudaDriver.probe()) {
      case CudaDriver.Present present -> cuda(ordinal, present);
      case CudaDriver.Absent absent -> throw new DeviceException.Unavailable(absent.reason());
    };
  }

  private static Opened cuda(int ordinal, CudaDriver.Present driver) {
    return new Opened(
        CudaDevice.open(ordinal),
        "the NVIDIA driver for CUDA %s has %d GPU%s"
            .formatted(driver.version(), driver.devices(), driver.devices() == 1 ? "" : "s"));
  }

  private static Opened emulator(String reason) {
    return new Opened(new EmulatedDevice(EmulatorOptions.DEFAULT), reason);
  }
}
