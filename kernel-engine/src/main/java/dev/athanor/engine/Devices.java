package dev.athanor.engine;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** Opens devices by name. */
public final class Devices {

  private static final Pattern ONE = Pattern.compile("(cuda|emulator)(?::(\\d{1,3}))?");

  private Devices() {}

  /**
   * An opened device.
   *
   * @param reason why this device was chosen, such as {@code the emulator was requested}
   */
  public record Opened(Device device, String reason) {}

  /**
   * Opens a device.
   *
   * @param wanted {@code emulator}, {@code emulator:N}, {@code cuda}, {@code cuda:N}, or {@code
   *     auto}: the first GPU if there is one, else the emulator
   * @throws IllegalArgumentException for any other name
   * @throws DeviceException.Unavailable if the GPU cannot be opened
   */
  public static Opened open(String wanted) {
    if (wanted.equals("auto")) {
      return switch (CudaDriver.probe()) {
        case CudaDriver.Present present -> cuda(0, present);
        case CudaDriver.Absent absent -> emulator(0, absent.reason());
      };
    }
    var one = ONE.matcher(wanted);
    if (!one.matches()) {
      throw new IllegalArgumentException(
          "unknown device \"%s\"; use auto, emulator, emulator:N, cuda or cuda:N"
              .formatted(wanted));
    }
    return one.group(1).equals("cuda")
        ? cuda(number(one))
        : emulator(number(one), "the emulator was requested");
  }

  private static int number(Matcher one) {
    return one.group(2) == null ? 0 : Integer.parseInt(one.group(2));
  }

  /**
   * Opens an emulator with given options.
   *
   * @param wanted {@code emulator} or {@code emulator:N}
   * @param options such as the emulated target and the level of the sanitizer
   * @throws IllegalArgumentException for any other device
   */
  public static Opened openEmulator(String wanted, EmulatorOptions options) {
    var one = ONE.matcher(wanted);
    if (!one.matches() || !one.group(1).equals("emulator")) {
      throw new IllegalArgumentException(
          "\"%s\" is not an emulator, and only an emulator's target and sanitizer can be chosen; use \"emulator\""
              .formatted(wanted));
    }
    return new Opened(new EmulatedDevice(number(one), options), "the emulator was requested");
  }

  /**
   * Opens several devices.
   *
   * @param wanted one or more of {@link #open}, separated by commas, or {@code all}: every GPU
   * @throws IllegalArgumentException for any other name, and if a device is named twice
   * @throws DeviceException.Unavailable if a GPU cannot be opened; no device is open then
   */
  public static List<Opened> openAll(String wanted) {
    if (wanted.equals("all")) {
      return switch (CudaDriver.probe()) {
        case CudaDriver.Present present ->
            openAll(IntStream.range(0, present.devices()).mapToObj(n -> "cuda:" + n).toList());
        case CudaDriver.Absent absent -> throw new DeviceException.Unavailable(absent.reason());
      };
    }
    return openAll(List.of(wanted.split(",", -1)));
  }

  private static List<Opened> openAll(List<String> wanted) {
    var opened = new ArrayList<Opened>();
    var ids = new HashSet<String>();
    try {
      for (var one : wanted) {
        var device = open(one);
        opened.add(device);
        var id = device.device().capability().id();
        if (!ids.add(id)) {
          throw new IllegalArgumentException(
              "%s is named twice in \"%s\"; name each device once"
                  .formatted(id, String.join(",", wanted)));
        }
      }
    } catch (RuntimeException e) {
      opened.forEach(one -> one.device().close());
      throw e;
    }
    return opened;
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

  private static Opened emulator(int number, String reason) {
    return new Opened(new EmulatedDevice(number, EmulatorOptions.DEFAULT), reason);
  }
}
