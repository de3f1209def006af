package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceCompatibilityKit;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.ptx.TableWalk;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;
import org.junit.jupiter.api.Test;

class EmulatedDeviceTest extends DeviceCompatibilityKit {

  @Override
  protected Device open() {
    return new EmulatedDevice();
  }

  @Test
  void everySpellingOfTheTableIsUnderstood() {
    try (var device = new EmulatedDevice()) {
      var walk = TableWalk.module(new Version(7, 8), Target.SM_90);
      assertThat(device.load(walk, "walk").origin()).isEqualTo(Origin.COMPILED);
    }
  }
}
