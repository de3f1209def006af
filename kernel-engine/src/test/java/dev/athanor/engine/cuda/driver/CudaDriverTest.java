package dev.athanor.engine.cuda.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.DeviceException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import org.junit.jupiter.api.Test;

class CudaDriverTest {

  @Test
  void reportsAMissingDriverInOneSentence() {
    assumeThat(driverIsInstalled()).as("a driver is installed").isFalse();
    var sentence = "libcuda.so.1 was not found: no NVIDIA driver is installed on this machine";

    assertThat(CudaDriver.probe()).isEqualTo(new CudaDriver.Absent(sentence));
    assertThatExceptionOfType(DeviceException.Unavailable.class)
        .isThrownBy(() -> CudaDevice.open(0))
        .withMessage(sentence);
  }

  @SuppressWarnings("restricted")
  private static boolean driverIsInstalled() {
    try {
      return SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()).find("cuInit").isPresent();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
