package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.device.DeviceException;
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
        .hasMessage("unknown device \"gpu\"; use auto, emulator, emulator:N, cuda or cuda:N");
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
}
