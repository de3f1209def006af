package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.athanor.engine.device.DeviceException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CudaDriverTest {

  @Test
  void saysInOneSentenceThatThereIsNoDriver() {
    assumeThat(driverIsThere()).as("a driver is there").isFalse();
    var sentence = "libcuda.so.1 was not found, so there is no NVIDIA driver on this machine";

    assertThat(CudaDriver.probe()).isEqualTo(new CudaDriver.Absent(sentence));
    assertThatExceptionOfType(DeviceException.Unavailable.class)
        .isThrownBy(() -> CudaDevice.open(0))
        .withMessage(sentence);
  }

  @SuppressWarnings("restricted")
  private static boolean driverIsThere() {
    try {
      return SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()).find("cuInit").isPresent();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1, 256",
    "256, 256",
    "257, 512",
    "1024, 1024",
    "1025, 1280",
    "5000, 5120",
    "1048576, 1048576",
    "1048577, 1310720",
    "67108865, 83886080",
    "10737418240, 10737418240",
    "10737418241, 10754195456"
  })
  void roundsToSizeClasses(long bytes, long size) {
    assertThat(MemoryPool.sizeClass(bytes)).isEqualTo(size);
  }
}
