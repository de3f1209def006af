package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.DeviceProvider;
import dev.athanor.engine.device.DeviceProvider.Found;
import dev.athanor.engine.ptx.Target;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DevicesTest {

  @Test
  void opensTheEmulator() {
    var opened = Devices.open("emulator");
    try (var device = opened.device()) {
      assertThat(device.capability().id()).isEqualTo("emulator:0");
      assertThat(opened.reason()).isEqualTo("the emulator was requested");
    }
  }

  @Test
  void autoFallsBackToTheEmulatorWithTheReason() {
    var opened = Devices.open("auto");
    try (var device = opened.device()) {
      switch (CudaDriver.probe()) {
        case CudaDriver.Present _ -> assertThat(device.capability().id()).isEqualTo("cuda:0");
        case CudaDriver.Absent absent -> {
          assertThat(device.capability().id()).isEqualTo("emulator:0");
          assertThat(opened.reason())
              .isEqualTo(absent.reason())
              .hasSizeLessThan(250)
              .doesNotContain("\n");
        }
      }
    }
  }

  @Test
  void rejectsAMissingGpuWithTheReason() {
    switch (CudaDriver.probe()) {
      case CudaDriver.Present _ ->
          assertThatThrownBy(() -> Devices.open("cuda:99"))
              .isInstanceOf(DeviceException.Unavailable.class);
      case CudaDriver.Absent absent ->
          assertThatThrownBy(() -> Devices.open("cuda"))
              .isInstanceOf(DeviceException.Unavailable.class)
              .hasMessage(absent.reason());
    }
  }

  @Test
  void rejectsUnknownNames() {
    assertThatThrownBy(() -> Devices.open("gpu"))
        .hasMessage(
            "unknown device \"gpu\"; use auto, emulator, emulator:N, cuda, cuda:N, vulkan or vulkan:N");
  }

  @Test
  void opensSeveralInOrder() {
    var opened = Devices.openAll("emulator:1,emulator");
    try {
      assertThat(opened)
          .extracting(one -> one.device().capability().id())
          .containsExactly("emulator:1", "emulator:0");
    } finally {
      opened.forEach(one -> one.device().close());
    }
  }

  @Test
  void allOpensEveryGpu() {
    switch (CudaDriver.probe()) {
      case CudaDriver.Present present -> {
        var opened = Devices.openAll("all");
        opened.forEach(one -> one.device().close());
        assertThat(opened).hasSize(present.devices());
      }
      case CudaDriver.Absent absent ->
          assertThatThrownBy(() -> Devices.openAll("all"))
              .isInstanceOf(DeviceException.Unavailable.class)
              .hasMessage(absent.reason());
    }
  }

  @Test
  void rejectsDuplicates() {
    assertThatThrownBy(() -> Devices.openAll("emulator,emulator:0"))
        .hasMessage("emulator:0 is named twice in \"emulator,emulator:0\"; name each device once");
  }

  private static final CudaDriver.Probe NO_CUDA = new CudaDriver.Absent("no NVIDIA driver");
  private static final CudaDriver.Probe ONE_GPU = new CudaDriver.Present("13.0", 1);
  private static final Found GPU = new Found("a GPU", true, Optional.of("0000:01:00.0"));
  private static final Found OTHER_GPU = new Found("another GPU", true, Optional.empty());
  private static final Found CPU = new Found("a CPU driver", false, Optional.empty());

  @Test
  void vulkanNeedsItsModule() {
    assertThatThrownBy(() -> devices(ONE_GPU).one("vulkan"))
        .isInstanceOf(DeviceException.Unavailable.class)
        .hasMessage("vulkan devices need the module athanor-vulkan on the class path");
  }

  @Test
  void opensDevicesOfProviders() {
    var devices = devices(ONE_GPU, CPU, GPU);
    assertThat(id(devices.one("vulkan"))).isEqualTo("vulkan:0");
    assertThat(id(devices.one("vulkan:1"))).isEqualTo("vulkan:1");
    assertThat(devices.one("vulkan:1").reason()).isEqualTo("Vulkan has 2 devices");
    assertThat(devices.several("vulkan:1,cuda,vulkan"))
        .extracting(DevicesTest::id)
        .containsExactly("vulkan:1", "cuda:0", "vulkan:0");
    assertThatThrownBy(() -> devices.one("vulkan:2"))
        .isInstanceOf(DeviceException.Unavailable.class)
        .hasMessage("no device vulkan:2: Vulkan has 2 devices, counted from 0");
    assertThatThrownBy(() -> devices(ONE_GPU, new Found[0]).one("vulkan"))
        .isInstanceOf(DeviceException.Unavailable.class)
        .hasMessage("no Vulkan driver");
  }

  @Test
  void autoPrefersCudaAndNeverChoosesACpuDriver() {
    assertThat(id(devices(ONE_GPU, GPU).one("auto"))).isEqualTo("cuda:0");
    var gpu = devices(NO_CUDA, CPU, GPU).one("auto");
    assertThat(id(gpu)).isEqualTo("vulkan:1");
    assertThat(gpu.reason()).isEqualTo("Vulkan has 2 devices");
    var emulator = devices(NO_CUDA, CPU).one("auto");
    assertThat(id(emulator)).isEqualTo("emulator:0");
    assertThat(emulator.reason()).isEqualTo("no NVIDIA driver");
    emulator.device().close();
  }

  @Test
  void allOpensAGpuOnce() {
    assertThat(devices(ONE_GPU, CPU, GPU, OTHER_GPU).several("all"))
        .extracting(DevicesTest::id)
        .containsExactly("cuda:0", "vulkan:2");
    assertThat(devices(NO_CUDA, CPU, GPU, OTHER_GPU).several("all"))
        .extracting(DevicesTest::id)
        .containsExactly("vulkan:1", "vulkan:2");
    assertThatThrownBy(() -> devices(NO_CUDA, CPU).several("all"))
        .isInstanceOf(DeviceException.Unavailable.class)
        .hasMessage("no NVIDIA driver");
  }

  private static String id(Devices.Opened opened) {
    return opened.device().capability().id();
  }

  private static Devices devices(CudaDriver.Probe cuda) {
    return new Devices(cuda, n -> device("cuda", n, GPU), List.of());
  }

  private static Devices devices(CudaDriver.Probe cuda, Found... found) {
    var provider =
        new DeviceProvider() {
          @Override
          public String kind() {
            return "vulkan";
          }

          @Override
          public Probe probe() {
            return found.length == 0
                ? new Absent("no Vulkan driver")
                : new Present("Vulkan has %d devices".formatted(found.length), List.of(found));
          }

          @Override
          public Device open(int number) {
            return device("vulkan", number, found[number]);
          }
        };
    return new Devices(cuda, n -> device("cuda", n, GPU), List.of(provider));
  }

  /** Returns a device that only describes itself. */
  private static Device device(String kind, int number, Found found) {
    var capability =
        new Capability(
            kind + ":" + number, found.name(), Target.SM_80, "1", 1, 1024, 1 << 15, 1 << 15, 1);
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            (_, method, _) ->
                switch (method.getName()) {
                  case "capability" -> capability;
                  case "busId" -> found.busId();
                  default -> null;
                });
  }
}
