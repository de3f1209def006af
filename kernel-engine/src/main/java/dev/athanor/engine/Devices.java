package dev.athanor.engine;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.DeviceProvider;
import dev.athanor.engine.device.DeviceProvider.Absent;
import dev.athanor.engine.device.DeviceProvider.Found;
import dev.athanor.engine.device.DeviceProvider.Present;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.ServiceLoader;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Opens devices by name. */
public final class Devices {

  private static final Pattern ONE = Pattern.compile("(cuda|emulator|vulkan)(?::(\\d{1,3}))?");

  private final CudaDriver.Probe cudaDriver;
  private final IntFunction<Device> cudaDevices;
  private final List<DeviceProvider> providers;

  /**
   * @param cudaDevices opens a GPU of the CUDA driver
   * @param providers providers of devices of other kinds
   */
  Devices(
      CudaDriver.Probe cudaDriver,
      IntFunction<Device> cudaDevices,
      List<DeviceProvider> providers) {
    this.cudaDriver = cudaDriver;
    this.cudaDevices = cudaDevices;
    this.providers = List.copyOf(providers);
  }

  private static Devices ofThisMachine() {
    var providers =
        ServiceLoader.load(DeviceProvider.class, Devices.class.getClassLoader()).stream()
            .map(ServiceLoader.Provider::get)
            .toList();
    return new Devices(CudaDriver.probe(), CudaDevice::open, providers);
  }

  /**
   * An opened device.
   *
   * @param reason why this device was chosen, such as {@code the emulator was requested}
   */
  public record Opened(Device device, String reason) {}

  /**
   * Opens a device.
   *
   * @param wanted {@code emulator}, {@code cuda}, {@code vulkan}, one of them with a number such as
   *     {@code cuda:1}, or {@code auto}: the first GPU of CUDA if there is one, else the first of
   *     Vulkan, else the emulator
   * @throws IllegalArgumentException for any other name
   * @throws DeviceException.Unavailable if the device cannot be opened
   */
  public static Opened open(String wanted) {
    return ofThisMachine().one(wanted);
  }

  Opened one(String wanted) {
    if (wanted.equals("auto")) {
      return switch (cudaDriver) {
        case CudaDriver.Present present -> cuda(0, present);
        case CudaDriver.Absent absent ->
            provided(_ -> true)
                .findFirst()
                .map(Provided::open)
                .orElseGet(() -> emulator(0, absent.reason()));
      };
    }
    var one = ONE.matcher(wanted);
    if (!one.matches()) {
      throw new IllegalArgumentException(
          "unknown device \"%s\"; use auto, emulator, emulator:N, cuda, cuda:N, vulkan or vulkan:N"
              .formatted(wanted));
    }
    return switch (one.group(1)) {
      case "cuda" -> cuda(number(one));
      case "emulator" -> emulator(number(one), "the emulator was requested");
      default -> provided(one.group(1), number(one));
    };
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
   * @param wanted one or more of {@link #open}, separated by commas, or {@code all}: every GPU. A
   *     GPU that CUDA drives is not opened with Vulkan again.
   * @throws IllegalArgumentException for any other name, and if a device is named twice
   * @throws DeviceException.Unavailable if a GPU cannot be opened; no device is open then
   */
  public static List<Opened> openAll(String wanted) {
    return ofThisMachine().several(wanted);
  }

  List<Opened> several(String wanted) {
    var opened = new ArrayList<Opened>();
    try {
      if (wanted.equals("all")) {
        openGpus(opened);
      } else {
        openEach(wanted, opened);
      }
    } catch (RuntimeException e) {
      opened.forEach(one -> one.device().close());
      throw e;
    }
    return opened;
  }

  private void openGpus(List<Opened> opened) {
    if (cudaDriver instanceof CudaDriver.Present present) {
      for (int n = 0; n < present.devices(); n++) {
        opened.add(cuda(n, present));
      }
    }
    var ofCuda = opened.stream().map(each -> each.device().busId()).toList();
    provided(found -> found.busId().isEmpty() || !ofCuda.contains(found.busId()))
        .forEach(each -> opened.add(each.open()));
    if (opened.isEmpty() && cudaDriver instanceof CudaDriver.Absent absent) {
      throw new DeviceException.Unavailable(absent.reason());
    }
  }

  private void openEach(String wanted, List<Opened> opened) {
    var ids = new HashSet<String>();
    for (var each : wanted.split(",", -1)) {
      var device = one(each);
      opened.add(device);
      var id = device.device().capability().id();
      if (!ids.add(id)) {
        throw new IllegalArgumentException(
            "%s is named twice in \"%s\"; name each device once".formatted(id, wanted));
      }
    }
  }

  private Opened cuda(int ordinal) {
    return switch (cudaDriver) {
      case CudaDriver.Present present -> cuda(ordinal, present);
      case CudaDriver.Absent absent -> throw new DeviceException.Unavailable(absent.reason());
    };
  }

  private Opened cuda(int ordinal, CudaDriver.Present driver) {
    return new Opened(
        cudaDevices.apply(ordinal),
        "the NVIDIA driver for CUDA %s has %d GPU%s"
            .formatted(driver.version(), driver.devices(), driver.devices() == 1 ? "" : "s"));
  }

  private static Opened emulator(int number, String reason) {
    return new Opened(new EmulatedDevice(number, EmulatorOptions.DEFAULT), reason);
  }

  private record Provided(DeviceProvider provider, int number, String reason) {
    Opened open() {
      return new Opened(provider.open(number), reason);
    }
  }

  /** Returns the GPUs of the providers that a filter accepts. */
  private Stream<Provided> provided(Predicate<Found> filter) {
    return providers.stream()
        .<Provided>mapMulti((provider, gpus) -> {
          if (provider.probe() instanceof Present(String summary, List<Found> devices)) {
            for (int n = 0; n < devices.size(); n++) {
              if (devices.get(n).hardware() && filter.test(devices.get(n))) {
                gpus.accept(new Provided(provider, n, summary));
              }
            }
          }
        });
  }

  private Opened provided(String kind, int number) {
    var provider =
        providers.stream()
            .filter(each -> each.kind().equals(kind))
            .findFirst()
            .orElseThrow(() ->
                new DeviceException.Unavailable(
                    "%s devices need the module athanor-%s on the class path"
                        .formatted(kind, kind)));
    return switch (provider.probe()) {
      case Absent(String reason) -> throw new DeviceException.Unavailable(reason);
      case Present(String summary, List<Found> devices) -> {
        if (number >= devices.size()) {
          throw new DeviceException.Unavailable(
              "no device %s:%d: %s, counted from 0".formatted(kind, number, summary));
        }
        yield new Provided(provider, number, summary).open();
      }
    };
  }
}
